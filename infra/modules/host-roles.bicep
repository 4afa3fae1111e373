// The roles of an app's identity in its own region.

@description('The app\'s host account.')
param accountName string

@description('The app\'s Application Insights.')
param componentName string

@description('Object id of the app\'s identity.')
param principalId string

var storageBlobDataOwner = 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
var storageQueueDataContributor = '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
var storageTableDataContributor = '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
var monitoringMetricsPublisher = '3913510d-42f4-4e42-8a64-420c390055eb'

var accountRoles = [
  {
    id: storageBlobDataOwner
    reason: 'The host keeps its timer locks and keys in blobs, reads the app package, and Durable keeps its leases there.'
  }
  {
    id: storageQueueDataContributor
    reason: 'Durable hands work over through queues.'
  }
  {
    id: storageTableDataContributor
    reason: 'Durable keeps its histories in tables.'
  }
]

resource account 'Microsoft.Storage/storageAccounts@2025-06-01' existing = {
  name: accountName
}

resource component 'Microsoft.Insights/components@2020-02-02' existing = {
  name: componentName
}

resource accountAssignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in accountRoles: {
    scope: account
    name: guid(account.id, principalId, role.id)
    properties: {
      principalId: principalId
      principalType: 'ServicePrincipal'
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role.id)
      description: role.reason
    }
  }
]

resource componentAssignment 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: component
  name: guid(component.id, principalId, monitoringMetricsPublisher)
  properties: {
    principalId: principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', monitoringMetricsPublisher)
    description: 'Application Insights accepts telemetry only with this role.'
  }
}
