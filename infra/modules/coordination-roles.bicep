// Access of one principal to containers of the coordination account or of the audit account, and to nothing else in it.

@description('The account.')
param accountName string

@description('The containers.')
param containerNames string[]

@description('Object id of an identity, a group or a person.')
param principalId string

@description('The type of the principal. Azure needs it for a new identity, which it cannot look up yet.')
param principalType ('Group' | 'ServicePrincipal' | 'User')?

@description('Read, read and write, or create audit entries.')
param access 'contribute' | 'read' | 'record'

var storageBlobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
var storageBlobDataReader = '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'

var roles = {
  contribute: {
    id: storageBlobDataContributor
    reason: 'Takes leases, and writes rows, controls, ledger records and what the jobs produce.'
  }
  record: {
    id: storageBlobDataContributor
    reason: 'Creates audit entries. The policy of the container lets no one change or delete one.'
  }
  read: {
    id: storageBlobDataReader
    reason: 'Reads, and writes nothing.'
  }
}
var role = roles[access]

resource account 'Microsoft.Storage/storageAccounts@2025-06-01' existing = {
  name: accountName
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' existing = {
  parent: account
  name: 'default'
}

resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' existing = [
  for container in containerNames: {
    parent: blobs
    name: container
  }
]

resource assignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for (container, i) in containerNames: {
    scope: containers[i]
    name: guid(containers[i].id, principalId, role.id)
    properties: {
      principalId: principalId
      principalType: principalType
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role.id)
      description: role.reason
    }
  }
]
