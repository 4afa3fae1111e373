// A second place for audit entries, which the apps, operators and owners of the coordination account cannot change or
// delete before their time.

@description('The account.')
@minLength(3)
@maxLength(24)
param accountName string

@description('The region of the account.')
param location string

@description('Redundancy of the account.')
param redundancy 'Standard_ZRS' | 'Standard_GZRS'

@description('Puts a lock on the account: the lock must be deleted before the account.')
param deleteLock bool

@description('The container of the entries.')
param containerName string

@description('The number of days for which an entry can neither be changed nor deleted.')
param days int

@description('Turns public access off.')
param privateNetwork bool

@description('The workspace for the logs of writes.')
param workspaceId string

@description('Tags for every resource.')
param tags { *: string }

resource account 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  name: accountName
  location: location
  tags: tags
  sku: {
    name: redundancy
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

resource lock 'Microsoft.Authorization/locks@2020-05-01' = if (deleteLock) {
  scope: account
  name: 'keep'
  properties: {
    level: 'CanNotDelete'
    notes: 'Holds the audit entries of all jobs.'
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' = {
  parent: account
  name: 'default'
}

resource container 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = {
  parent: blobs
  name: containerName
  properties: {
    publicAccess: 'None'
  }
}

// It begins unlocked: an owner of the account can still remove it. Lock it once it has been tried.
resource policy 'Microsoft.Storage/storageAccounts/blobServices/containers/immutabilityPolicies@2025-06-01' = {
  parent: container
  name: 'default'
  properties: {
    immutabilityPeriodSinceCreationInDays: days
    allowProtectedAppendWrites: false
  }
}

resource writes 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: blobs
  name: 'writes'
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'StorageWrite'
        enabled: true
      }
      {
        category: 'StorageDelete'
        enabled: true
      }
    ]
  }
}

@description('Its blob service.')
output blobUri string = account.properties.primaryEndpoints.blob
