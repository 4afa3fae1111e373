// The coordination account: rows, controls, the ledger and the logs of all regions. It is not a host account, because
// write access to a task hub is the right to run code in its app.

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

@description('The coordination container.')
param containerName string

@description('Further containers, which the jobs write to.')
param jobContainers string[]

@description('The number of days for which ledger records, logs, notices and the audit trail are kept.')
param keepDays int

@description('Turns public access off.')
param privateNetwork bool

@description('The workspace for the logs of writes. Empty: they are not logged.')
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
      // The lifecycle rule runs as a trusted service and would be shut out too. A trusted service still needs a role to
      // read.
      bypass: 'AzureServices'
      defaultAction: privateNetwork ? 'Deny' : 'Allow'
    }
  }
}

// In a new account, the fencing tokens would start again from 1. The lock does not protect blobs: the lifecycle rule
// deletes some.
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
    // With versions, each write of a row would leave one behind.
    isVersioningEnabled: false
    // Soft delete keeps no copy when only metadata is written, as for rows.
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
              // Logs are append blobs, for which the service offers only this action.
              blobTypes: ['blockBlob', 'appendBlob']
              // Never jobs/: a job whose row was deleted starts again.
              prefixMatch: ['${containerName}/runs/', '${containerName}/requests/', '${containerName}/logs/', '${containerName}/audit/', '${containerName}/notices/']
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

// A log of all writes with their identity and address. Reads are left out: each sweep is one.
resource writes 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (!empty(workspaceId)) {
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
