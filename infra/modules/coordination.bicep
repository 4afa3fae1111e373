// The coordination account: rows, controls and the ledger of all regions. It is no host account, since whoever may
// write to a task hub can run code in its app.

@description('The account.')
@minLength(3)
@maxLength(24)
param accountName string

@description('Where the account is.')
param location string

@description('Redundancy of the account.')
param redundancy 'Standard_ZRS' | 'Standard_GZRS'

@description('The account cannot be deleted before its lock is.')
param deleteLock bool

@description('The coordination container.')
param containerName string

@description('Further containers, which the jobs write to.')
param jobContainers string[]

@description('How many days ledger records are kept.')
param keepDays int

@description('Public access off.')
param privateNetwork bool

@description('The workspace that logs of writes go to.')
param workspaceId string

@description('Tags on everything.')
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
      // The lifecycle rule runs as a trusted service, and would be shut out too. To read, it takes a role all the same.
      bypass: 'AzureServices'
      defaultAction: privateNetwork ? 'Deny' : 'Allow'
    }
  }
}

// A new account would begin the tokens anew. Blobs in it can still be deleted, which the lifecycle rule does.
resource lock 'Microsoft.Authorization/locks@2020-05-01' = if (deleteLock) {
  scope: account
  name: 'keep'
  properties: {
    level: 'CanNotDelete'
    notes: 'Holds the tokens and the ledger of all jobs.'
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' = {
  parent: account
  name: 'default'
  properties: {
    // With versions each write of a row would leave one behind.
    isVersioningEnabled: false
    // Writes of metadata, which is all that rows get, leave nothing behind here.
    deleteRetentionPolicy: {
      enabled: true
      days: 14
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 14
    }
  }
}

resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = [
  for container in concat([containerName], jobContainers): {
    parent: blobs
    name: container
    properties: {
      publicAccess: 'None'
    }
  }
]

resource lifecycle 'Microsoft.Storage/storageAccounts/managementPolicies@2025-06-01' = {
  parent: account
  name: 'default'
  properties: {
    policy: {
      rules: [
        {
          name: 'ledger'
          type: 'Lifecycle'
          definition: {
            filters: {
              blobTypes: ['blockBlob']
              // Never jobs/: a row that is gone is a job that starts anew.
              prefixMatch: ['${containerName}/runs/']
            }
            actions: {
              baseBlob: {
                delete: {
                  daysAfterModificationGreaterThan: keepDays
                }
              }
            }
          }
        }
      ]
    }
  }
}

// Who wrote what, from where, as which identity. Reads are left out: each sweep is one.
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
