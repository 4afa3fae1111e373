// Where all regions send their logs: alerts look at all of them at once.

@description('Part of every name.')
param name string

@description('The region of the workspace.')
param location string

@description('A workspace that exists, for the logs of the apps. Empty: one is created.')
param workspaceId string

@description('Daily log quota, in GB.')
param dailyQuotaGB int

@description('The most logs of writes a day, in GB. -1: no limit.')
param writesQuotaGB int

@description('Tags for every resource.')
param tags { *: string }

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-02-01' = if (empty(workspaceId)) {
  name: 'log-${name}'
  location: location
  tags: tags
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    // Retention up to this length costs nothing beyond the ingestion.
    retentionInDays: 30
    // Limits the cost of what the jobs log.
    workspaceCapping: {
      dailyQuotaGb: dailyQuotaGB
    }
    features: {
      disableLocalAuth: true
    }
  }
}

// Evidence of who wrote to storage has its own cap. Only writes fill it, so it cannot be used up by making the apps
// log.
resource evidence 'Microsoft.OperationalInsights/workspaces@2025-02-01' = {
  name: 'log-${name}-evidence'
  location: location
  tags: tags
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    retentionInDays: 30
    workspaceCapping: {
      dailyQuotaGb: writesQuotaGB
    }
    features: {
      disableLocalAuth: true
    }
  }
}

@description('The workspace for the log of writes to storage.')
output evidenceWorkspaceId string = evidence.id

@description('The workspace.')
output workspaceId string = empty(workspaceId) ? workspace.id : workspaceId
