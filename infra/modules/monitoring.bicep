// Where all regions send their logs: alerts look at all of them at once.

@description('Part of every name.')
param name string

@description('Where the workspace is.')
param location string

@description('The most logs a day, in GB.')
param dailyQuotaGB int

@description('Tags on everything.')
param tags { *: string }

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-02-01' = {
  name: 'log-${name}'
  location: location
  tags: tags
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    // What is kept this long costs nothing beyond its ingestion.
    retentionInDays: 30
    // Anybody may call the health path, and each call is a line in the log.
    workspaceCapping: {
      dailyQuotaGb: dailyQuotaGB
    }
    features: {
      disableLocalAuth: true
    }
  }
}

@description('The workspace.')
output workspaceId string = workspace.id
