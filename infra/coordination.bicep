// What function apps that exist already need of cronlease on Azure: the coordination account, and access to it. Deploy it
// to a resource group. main.bicep creates the same account with everything around it.
targetScope = 'resourceGroup'

@description('A function app that runs the jobs.')
type coordinatedApp = {
  @description('The name of the app.')
  name: string

  @description('Object id of its identity.')
  principalId: string

  @description('Client id of a user-assigned identity. Without it, the app uses its system-assigned one.')
  clientId: string?
}

@description('The account. Lowercase letters and digits.')
@minLength(3)
@maxLength(24)
param accountName string

@description('The region of the account.')
param location string = resourceGroup().location

@description('Redundancy of the account: zones of one region, or a copy in the paired region as well.')
param redundancy 'Standard_ZRS' | 'Standard_GZRS' = 'Standard_ZRS'

@description('Puts a lock on the account: the lock must be deleted before the account. To create the lock, you need Locks Contributor or Owner.')
param deleteLock bool = true

@description('The coordination container.')
param containerName string = 'cronlease'

@description('For how many days ledger records, logs, notices and the audit trail are kept: the longest keep in jobs.json.')
@minValue(1)
param keepDays int = 90

@description('Turns public access to the account off. Its private endpoints are yours to create.')
param privateNetwork bool = false

@description('The apps.')
param apps coordinatedApp[]

@description('Object ids of Entra groups whose members may use the cronlease command.')
param operatorGroups string[] = []

@description('Object ids of Entra groups, and of identities of pipelines, that may read.')
param viewers { id: string, type: 'Group' | 'ServicePrincipal' | 'User' }[] = []

@description('The Log Analytics workspace for the log of writes. Empty: writes are not logged.')
param workspaceId string = ''

@description('The name of the environment, such as production, which the dashboard shows.')
param environmentName string = ''

@description('Tags for every resource.')
param tags { *: string } = {}

module coordination 'modules/coordination.bicep' = {
  params: {
    accountName: accountName
    location: location
    redundancy: redundancy
    deleteLock: deleteLock
    containerName: containerName
    jobContainers: []
    keepDays: keepDays
    privateNetwork: privateNetwork
    workspaceId: workspaceId
    tags: tags
  }
}

var people = concat(
  map(apps, app => { id: app.principalId, type: 'ServicePrincipal', access: 'contribute' }),
  map(operatorGroups, id => { id: id, type: 'Group', access: 'contribute' }),
  map(viewers, viewer => { id: viewer.id, type: viewer.type, access: 'read' })
)

module roles 'modules/coordination-roles.bicep' = [
  for person in people: {
    params: {
      accountName: accountName
      containerNames: [containerName]
      principalId: person.id
      principalType: person.type
      access: person.access
    }
    dependsOn: [coordination]
  }
]

@description('The app settings of each app, in the order of apps.')
output appSettings object[] = [
  for app in apps: union(
    {
      CRONLEASE_STORAGE__blobServiceUri: coordination.outputs.blobUri
      CRONLEASE_STORAGE__credential: 'managedidentity'
      CRONLEASE_CONTAINER: containerName
      CRONLEASE_DEPLOYMENT: app.name
    },
    empty(app.?clientId) ? {} : { CRONLEASE_STORAGE__clientId: app.?clientId },
    empty(environmentName) ? {} : { CRONLEASE_ENVIRONMENT: environmentName }
  )
]

@description('The blob service of the account.')
output coordinationUri string = coordination.outputs.blobUri
