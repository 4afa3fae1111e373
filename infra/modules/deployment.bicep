// One deployment: an app with its own identity, host account and plan.

@description('Part of every name.')
@minLength(3)
@maxLength(9)
param name string

@description('Part of the names of this deployment\'s resources: its region, unless it has its own name.')
param deploymentName string

@description('Its region.')
param location string

@description('The function app.')
param appName string

@description('The resource group of the coordination account.')
param coordinationGroupName string

@description('The coordination account.')
param coordinationAccountName string

@description('Its blob service.')
param coordinationUri string

@description('The further coordination accounts, in the same group.')
param furtherAccountNames string[]

@description('Their blob services, in the same order.')
param furtherUris string[]

@description('The account of the second place of audit entries. Empty: there is none.')
param auditAccountNames string[]

@description('Its blob service.')
param auditUris string[]

@description('The coordination container.')
param containerName string

@description('Further containers in the coordination account, which the jobs write to.')
param jobContainers string[]

@description('Memory of an instance.')
param instanceMemoryMB 512 | 2048 | 4096

@description('How many instances are always ready for Durable.')
param alwaysReady int

@description('Spreads the instances and the host account over zones, if the region offers this for this plan.')
param zoneRedundant bool

@description('The most instances that the app may have.')
param maximumInstanceCount int

@description('Whether metrics and traces of the jobs are sent, as in CRONLEASE_TELEMETRY.')
param telemetry string

@description('Regular expressions for secrets in what the jobs log.')
param redact string[]

@description('The URI of a secret in a key vault with the receivers of notices, as in CRONLEASE_RECEIVERS. Empty: none.')
param receiversUri string

@description('The URI of a secret in a key vault with the addresses that jobs ping, as in CRONLEASE_PINGS. Empty: none.')
param pingsUri string

@description('The hosts to which notices and pings may go.')
param notifyHosts string[]

@description('The hosts to which jobs with a call may send requests.')
param callHosts string[]

@description('The address of the dashboard as people reach it.')
param publicUrl string

@description('Client id of the Entra application for the API. Empty: the API is closed.')
param authClientId string

@description('The tenant whose users may call the API.')
param authTenantId string

@description('Keys of machines for the API, each NAME:ROLE:SHA256.')
param apiKeys string[]

@description('Whether the API refuses every change.')
param apiReadOnly bool

@description('The name of the environment, which the dashboard shows.')
param environmentName string

@description('Further app settings, which win over those below.')
param ownSettings { *: string }

@description('Storage is reached through private endpoints only.')
param privateNetwork bool

@description('A subnet that exists, for the app. Empty: privateNetwork creates a network.')
param subnetId string

@description('A subnet that exists, for the private endpoints. Used only with privateNetwork and subnetId.')
param endpointSubnetId string

@description('The range of the deployment\'s network.')
param addressPrefix string

@description('The address ranges of people who call storage. Used only with privateNetwork.')
param operatorRanges string[]

@description('The workspace for the logs.')
param workspaceId string

@description('The workspace for the log of writes to storage.')
param evidenceWorkspaceId string

@description('Whether writes to the host account are logged.')
param logHostWrites bool

@description('How many places call the health. 0: there is no availability test.')
param availabilityPlaces int

@description('Tags for every resource.')
param tags { *: string }

// Settings under the same name are the app's own.
func merged(settings object[], own object) object[] =>
  map(
    items(union(toObject(settings, setting => setting.name, setting => setting.value), own)),
    setting => { name: setting.key, value: setting.value }
  )

var healthPath = '/api/manage/health'
// Below this path the app accepts keys, and no login.
var keyedPath = '/api/manage/keyed/*'
// The first ones lie apart, so that no failure of one region's network is taken for the app's.
var places = ['emea-nl-ams-azr', 'us-va-ash-azr', 'apac-sg-sin-azr', 'emea-gb-db3-azr', 'us-tx-sn1-azr']
var writes = [
  { category: 'StorageWrite', enabled: true }
  { category: 'StorageDelete', enabled: true }
]

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: 'id-${name}-${deploymentName}'
  location: location
  tags: tags
}

// For the clients of handlers. It has no role in the coordination account, so that no input of a run and no mistake of a
// handler reaches rows and records.
resource jobsIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: 'id-${name}-${deploymentName}-jobs'
  location: location
  tags: tags
}

resource hostAccount 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  name: 'st${name}${uniqueString(subscription().id, name, deploymentName)}'
  location: location
  tags: tags
  sku: {
    name: zoneRedundant ? 'Standard_ZRS' : 'Standard_LRS'
  }
  kind: 'StorageV2'
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: privateNetwork ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'None'
      defaultAction: privateNetwork ? 'Deny' : 'Allow'
    }
  }
}

resource hostBlobs 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' = {
  parent: hostAccount
  name: 'default'
}

resource packageContainer 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = {
  parent: hostBlobs
  name: 'app-package'
  properties: {
    publicAccess: 'None'
  }
}

resource hostQueues 'Microsoft.Storage/storageAccounts/queueServices@2025-06-01' = {
  parent: hostAccount
  name: 'default'
}

resource hostTables 'Microsoft.Storage/storageAccounts/tableServices@2025-06-01' = {
  parent: hostAccount
  name: 'default'
}

// Write access to the package, the queues or the tables is the right to run code in the app, so each write can be
// logged with its identity. Durable writes about 15 times for a run.
resource blobWrites 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (logHostWrites) {
  scope: hostBlobs
  name: 'writes'
  properties: {
    workspaceId: evidenceWorkspaceId
    logs: writes
  }
}

resource queueWrites 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (logHostWrites) {
  scope: hostQueues
  name: 'writes'
  properties: {
    workspaceId: evidenceWorkspaceId
    logs: writes
  }
}

resource tableWrites 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (logHostWrites) {
  scope: hostTables
  name: 'writes'
  properties: {
    workspaceId: evidenceWorkspaceId
    logs: writes
  }
}

resource component 'Microsoft.Insights/components@2020-02-02' = {
  name: 'appi-${name}-${deploymentName}'
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: workspaceId
    DisableLocalAuth: true
  }
}

module hostRoles 'host-roles.bicep' = {
  params: {
    accountName: hostAccount.name
    componentName: component.name
    principalId: identity.properties.principalId
  }
}

module coordinationRoles 'coordination-roles.bicep' = {
  scope: resourceGroup(coordinationGroupName)
  params: {
    accountName: coordinationAccountName
    containerNames: concat([containerName], jobContainers)
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
    access: 'contribute'
  }
}

module furtherRoles 'coordination-roles.bicep' = [
  for account in furtherAccountNames: {
    scope: resourceGroup(coordinationGroupName)
    params: {
      accountName: account
      containerNames: [containerName]
      principalId: identity.properties.principalId
      principalType: 'ServicePrincipal'
      access: 'contribute'
    }
  }
]

module auditRoles 'coordination-roles.bicep' = [
  for account in auditAccountNames: {
    scope: resourceGroup(coordinationGroupName)
    params: {
      accountName: account
      containerNames: [containerName]
      principalId: identity.properties.principalId
      principalType: 'ServicePrincipal'
      access: 'record'
    }
  }
]

resource auditAccounts 'Microsoft.Storage/storageAccounts@2025-06-01' existing = [
  for account in auditAccountNames: {
    scope: resourceGroup(coordinationGroupName)
    name: account
  }
]

resource furtherAccounts 'Microsoft.Storage/storageAccounts@2025-06-01' existing = [
  for account in furtherAccountNames: {
    scope: resourceGroup(coordinationGroupName)
    name: account
  }
]

// With one account, nothing is said of several.
var furtherSettings = flatten(map(range(0, length(furtherUris)), i => [
  { name: 'CRONLEASE_STORAGE_${i + 2}__blobServiceUri', value: furtherUris[i] }
  { name: 'CRONLEASE_STORAGE_${i + 2}__credential', value: 'managedidentity' }
  { name: 'CRONLEASE_STORAGE_${i + 2}__clientId', value: identity.properties.clientId }
]))
var shards = join(
  concat(['CRONLEASE_STORAGE'], map(range(2, length(furtherUris)), i => 'CRONLEASE_STORAGE_${i}')),
  ', '
)
var shardSettings = empty(furtherUris) ? [] : concat([{ name: 'CRONLEASE_SHARDS', value: shards }], furtherSettings)

var auditSettings = flatten(map(auditUris, uri => [
  { name: 'CRONLEASE_AUDIT__blobServiceUri', value: uri }
  { name: 'CRONLEASE_AUDIT__credential', value: 'managedidentity' }
  { name: 'CRONLEASE_AUDIT__clientId', value: identity.properties.clientId }
]))

resource coordinationAccount 'Microsoft.Storage/storageAccounts@2025-06-01' existing = {
  scope: resourceGroup(coordinationGroupName)
  name: coordinationAccountName
}

module network 'network.bicep' = if (privateNetwork) {
  params: {
    name: name
    deploymentName: deploymentName
    location: location
    addressPrefix: addressPrefix
    operatorRanges: operatorRanges
    subnetId: subnetId
    endpointSubnetId: endpointSubnetId
    hostAccountId: hostAccount.id
    coordinationAccountId: coordinationAccount.id
    furtherAccountIds: [for (_, i) in furtherAccountNames: furtherAccounts[i].id]
    auditAccountIds: [for (_, i) in auditAccountNames: auditAccounts[i].id]
    tags: tags
  }
}

resource plan 'Microsoft.Web/serverfarms@2025-03-01' = {
  name: 'plan-${name}-${deploymentName}'
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
    zoneRedundant: zoneRedundant
  }
}

resource app 'Microsoft.Web/sites@2025-03-01' = {
  name: appName
  location: location
  tags: tags
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identity.id}': {}
      '${jobsIdentity.id}': {}
    }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    // Without it, Azure reads references with the system-assigned identity, which this app does not have.
    keyVaultReferenceIdentity: identity.id
    virtualNetworkSubnetId: empty(subnetId) ? network.?outputs.appSubnetId : subnetId
    // The host's /admin is closed. The published types lack the property; it is documented at
    // https://learn.microsoft.com/azure/azure-functions/functions-app-settings#functionsruntimeadminisolationenabled
    #disable-next-line BCP037
    functionsRuntimeAdminIsolationEnabled: true
    functionAppConfig: {
      runtime: {
        name: 'node'
        version: '24'
      }
      deployment: {
        storage: {
          type: 'blobContainer'
          value: '${hostAccount.properties.primaryEndpoints.blob}${packageContainer.name}'
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identity.id
          }
        }
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        // The tick's instance hands attempts over to these. With none ready, Azure starts one for the first run after a
        // pause, which is late by that start.
        alwaysReady: alwaysReady == 0
          ? []
          : [
              {
                name: 'durable'
                instanceCount: alwaysReady
              }
            ]
      }
    }
    siteConfig: {
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
      http20Enabled: true
      appSettings: merged(
        concat(
          [
            { name: 'AzureWebJobsStorage__blobServiceUri', value: hostAccount.properties.primaryEndpoints.blob }
            { name: 'AzureWebJobsStorage__queueServiceUri', value: hostAccount.properties.primaryEndpoints.queue }
            { name: 'AzureWebJobsStorage__tableServiceUri', value: hostAccount.properties.primaryEndpoints.table }
            { name: 'AzureWebJobsStorage__credential', value: 'managedidentity' }
            { name: 'AzureWebJobsStorage__clientId', value: identity.properties.clientId }
            { name: 'APPLICATIONINSIGHTS_CONNECTION_STRING', value: component.properties.ConnectionString }
            {
              name: 'APPLICATIONINSIGHTS_AUTHENTICATION_STRING'
              value: 'ClientId=${identity.properties.clientId};Authorization=AAD'
            }
            { name: 'CRONLEASE_STORAGE__blobServiceUri', value: coordinationUri }
            { name: 'CRONLEASE_STORAGE__credential', value: 'managedidentity' }
            { name: 'CRONLEASE_STORAGE__clientId', value: identity.properties.clientId }
            { name: 'CRONLEASE_CONTAINER', value: containerName }
            { name: 'CRONLEASE_DEPLOYMENT', value: appName }
            { name: 'CRONLEASE_TICK', value: '10,25,40,55 * * * * *' }
            { name: 'CRONLEASE_LOOK_AHEAD', value: '5s' }
            { name: 'CRONLEASE_SWEEP_INTERVAL', value: '60s' }
            { name: 'CRONLEASE_TELEMETRY', value: telemetry }
            { name: 'CRONLEASE_REDACT', value: string(redact) }
            {
              name: 'CRONLEASE_RECEIVERS'
              value: empty(receiversUri) ? '' : '@Microsoft.KeyVault(SecretUri=${receiversUri})'
            }
            { name: 'CRONLEASE_PINGS', value: empty(pingsUri) ? '' : '@Microsoft.KeyVault(SecretUri=${pingsUri})' }
            { name: 'CRONLEASE_NOTIFY_HOSTS', value: join(notifyHosts, ',') }
            { name: 'CRONLEASE_CALL_HOSTS', value: join(callHosts, ',') }
            { name: 'CRONLEASE_PUBLIC_URL', value: publicUrl }
            { name: 'CRONLEASE_API_KEYS', value: join(apiKeys, ',') }
            { name: 'CRONLEASE_MANAGE_READ_ONLY', value: apiReadOnly ? 'true' : 'false' }
            { name: 'CRONLEASE_ENVIRONMENT', value: environmentName }
            { name: 'HANDLERS_CLIENT_ID', value: jobsIdentity.properties.clientId }
            { name: 'TASKHUB_NAME', value: '${name}${deploymentName}' }
          ],
          shardSettings,
          auditSettings
        ),
        ownSettings
      )
    }
  }
  // The host reads storage as soon as it starts.
  dependsOn: [hostRoles, coordinationRoles, furtherRoles, auditRoles]
}

// Names and passwords cannot publish: both ways to publish use Entra. Azure refuses a policy without a location ("The
// parameter location has an invalid value"), which the published types lack:
// https://github.com/Azure/bicep-types-az/issues/1526
resource ftpPasswords 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: app
  name: 'ftp'
  #disable-next-line BCP187
  location: location
  properties: {
    allow: false
  }
}

resource scmPasswords 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: app
  name: 'scm'
  #disable-next-line BCP187
  location: location
  properties: {
    allow: false
  }
}

// A caller without a login is sent to the login page, at no cost and without a call of the app. Without an application,
// logins are impossible, and every request gets 401. The app itself denies by default, too.
resource authentication 'Microsoft.Web/sites/config@2025-03-01' = {
  parent: app
  name: 'authsettingsV2'
  properties: {
    platform: {
      enabled: true
    }
    globalValidation: {
      requireAuthentication: true
      unauthenticatedClientAction: empty(authClientId) ? 'Return401' : 'RedirectToLoginPage'
      redirectToProvider: empty(authClientId) ? null : 'azureactivedirectory'
      // The first path answers healthy or unhealthy and nothing more. The other one is for keys, which this
      // authentication does not know; the product team describes the wildcard in
      // https://github.com/MicrosoftDocs/azure-docs/issues/86514
      excludedPaths: empty(apiKeys) ? [healthPath] : [healthPath, keyedPath]
    }
    httpSettings: {
      requireHttps: true
    }
    login: {
      // A stolen cookie opens the dashboard for a working day at most.
      cookieExpiration: {
        convention: 'FixedTime'
        timeToExpiration: '08:00:00'
      }
      tokenStore: {
        enabled: false
      }
    }
    identityProviders: {
      azureActiveDirectory: empty(authClientId)
        ? {
            enabled: false
          }
        : {
            enabled: true
            registration: {
              clientId: authClientId
              openIdIssuer: '${environment().authentication.loginEndpoint}${authTenantId}/v2.0'
            }
            validation: {
              allowedAudiences: [authClientId, 'api://${authClientId}']
            }
          }
    }
  }
}

// Flex Consumption has no health check. Each call from each place is billed.
resource availability 'Microsoft.Insights/webtests@2022-06-15' = if (availabilityPlaces > 0) {
  name: 'health-${appName}'
  location: location
  tags: union(tags, { 'hidden-link:${component.id}': 'Resource' })
  kind: 'standard'
  properties: {
    SyntheticMonitorId: 'health-${appName}'
    Name: 'health-${appName}'
    Kind: 'standard'
    Enabled: true
    Frequency: 900
    Timeout: 30
    RetryEnabled: true
    Locations: map(take(places, availabilityPlaces), place => { Id: place })
    Request: {
      RequestUrl: 'https://${app.properties.defaultHostName}${healthPath}'
      HttpVerb: 'GET'
      ParseDependentRequests: false
    }
    ValidationRules: {
      ExpectedHttpStatusCode: 200
      SSLCheck: true
    }
  }
}

@description('The host name of the app.')
output hostName string = app.properties.defaultHostName

@description('Its Application Insights.')
output componentId string = component.id

@description('Its availability test. Empty: there is none.')
output webTestId string = availabilityPlaces > 0 ? availability.id : ''
