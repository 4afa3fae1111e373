// Everything that the coordinator needs: one coordination account, one place for logs and alerts, and one app for each
// deployment. Each deployment has a resource group of its own, so that none depends on another.
targetScope = 'subscription'

@description('An identity that deploys packages.')
type packageDeployer = {
  @description('Its object id.')
  id: string

  @description('What it is. Azure cannot look up one that was made minutes ago, and refuses it with PrincipalNotFound.')
  type: 'Group' | 'ServicePrincipal' | 'User'
}

@description('One function app with all that belongs to it.')
type appDeployment = {
  @description('Part of its names: lowercase letters and digits. An app that had its name from regions keeps it under the name of its region.')
  @minLength(1)
  @maxLength(20)
  name: string

  @description('Its Azure region, such as northeurope.')
  region: string
}

@description('Part of every name. Lowercase letters and digits, beginning with a letter.')
@minLength(3)
@maxLength(9)
param name string = 'cronlease'

@description('The Azure regions to run in, such as northeurope, with one app in each. Add at the end; the order gives the address ranges.')
param regions string[] = []

@description('The apps to run, instead of regions: for two of them in one region. Add at the end.')
param deployments appDeployment[] = []

@description('Where the coordination account, the logs and the alerts are.')
param location string = empty(deployments)
  ? (empty(regions) ? deployment().location : regions[0])
  : deployments[0].region

@description('Redundancy of the coordination account: zones of one region, or a copy in the paired region as well.')
param coordinationRedundancy 'Standard_ZRS' | 'Standard_GZRS' = 'Standard_ZRS'

@description('The coordination account cannot be deleted before its lock is. Making the lock takes Locks Contributor, or Owner.')
param deleteLock bool = true

@description('Containers in the coordination account that the jobs write to.')
param jobContainers string[] = []

@description('Memory of an instance.')
param instanceMemoryMB 512 | 2048 | 4096 = 2048

@description('Spreads the instances and the host account of each app over zones. Not every region has that for this plan. Set it at the start.')
param zoneRedundant bool = false

@description('The most instances of each app, beside the one that is always ready. Not every region takes less than 40 yet.')
@minValue(1)
@maxValue(1000)
param maximumInstanceCount int = 40

@description('Client id of the Entra application for the API. Empty: the API is closed to everybody.')
param authClientId string = ''

@description('The tenant whose users may call the API.')
param authTenantId string = subscription().tenantId

@description('Object ids of Entra groups whose members may use the cronlease command on the coordination container.')
param operatorGroups string[] = []

@description('Object ids of Entra groups whose members may read the coordination container.')
param viewerGroups string[] = []

@description('The identities that pipelines deploy packages with. They may read the coordination container.')
param deployers packageDeployer[] = []

@description('The most logs a day, in GB. When they are used up, no log arrives until the next day, and the alert on silent apps says so.')
@minValue(1)
param dailyQuotaGB int = 5

@description('Whom alerts are mailed to.')
param alertEmails string[] = []

@description('Storage is reached through private endpoints only; its public access is off.')
param privateNetwork bool = false

@description('The range that each deployment takes a /24 of. Used only with privateNetwork.')
param addressSpace string = '10.70.0.0/16'

@description('Ranges that people use the cronlease command from, in networks that those of the apps are connected to. Used only with privateNetwork.')
param operatorRanges string[] = []

@description('Tags on everything.')
param tags { *: string } = {}

func keepOf(job object) string => job.?keep ?? '90d'

func secondsIn(unit string) int => unit == 'd' ? 86400 : unit == 'h' ? 3600 : unit == 'm' ? 60 : 1

func secondsOf(part string) int => int(take(part, length(part) - 1)) * secondsIn(last(part))

// A duration as jobs.json has it, such as 90d or 1h30m, in whole days; what is begun counts.
func daysOf(duration string) int =>
  (86399 + reduce(
    split(trim(replace(replace(replace(duration, 'd', 'd '), 'h', 'h '), 'm', 'm ')), ' '),
    0,
    (sum, part) => sum + secondsOf(part)
  )) / 86400

// What names of storage accounts and task hubs may hold is left to check here: a type can limit their length alone.
// With a problem the deployment is refused before anything is made.
var named = join(concat([name], regions, map(deployments, app => app.name)), '')
var strangers = filter(
  map(range(0, length(named)), at => substring(named, at, 1)),
  letter => !contains('abcdefghijklmnopqrstuvwxyz0123456789', letter)
)
var givenNames = concat(regions, map(deployments, app => app.name))
var problems = filter(
  [
    !empty(strangers) ? 'Names are of lowercase letters and digits, without "${join(strangers, ' ')}".' : ''
    empty(regions) == empty(deployments) ? 'Give either regions or deployments.' : ''
    length(union(givenNames, [])) < length(givenNames) ? 'Two deployments have one name.' : ''
    contains('abcdefghijklmnopqrstuvwxyz', take(name, 1)) ? '' : 'name does not begin with a lowercase letter.'
  ],
  problem => !empty(problem)
)

// Names are made here, and not by the modules, so that a what-if can tell what a deployment will do.
var deploymentNames = empty(problems) ? givenNames : fail(join(problems, ' '))
var deploymentRegions = concat(regions, map(deployments, app => app.region))
var coordinationAccountName = 'st${name}${uniqueString(subscription().id, name)}'
var apps = [
  for id in deploymentNames: 'func-${name}-${id}-${take(uniqueString(subscription().id, name, id), 6)}'
]

var containerName = 'cronlease'
var jobs = loadJsonContent('../jobs.json').jobs
var overdueJobs = map(filter(items(jobs), job => contains(job.value, 'alertAfter')), job => job.key)
var keepDays = reduce(map(items(jobs), job => daysOf(keepOf(job.value))), 1, (most, days) => max(most, days))

resource sharedGroup 'Microsoft.Resources/resourceGroups@2024-11-01' = {
  name: 'rg-${name}'
  location: location
  tags: tags
}

resource deploymentGroups 'Microsoft.Resources/resourceGroups@2024-11-01' = [
  for (deploymentName, i) in deploymentNames: {
    name: 'rg-${name}-${deploymentName}'
    location: deploymentRegions[i]
    tags: tags
  }
]

module monitoring 'modules/monitoring.bicep' = {
  scope: sharedGroup
  params: {
    name: name
    location: location
    dailyQuotaGB: dailyQuotaGB
    tags: tags
  }
}

module coordination 'modules/coordination.bicep' = {
  scope: sharedGroup
  params: {
    location: location
    accountName: coordinationAccountName
    redundancy: coordinationRedundancy
    deleteLock: deleteLock
    containerName: containerName
    jobContainers: jobContainers
    keepDays: keepDays
    privateNetwork: privateNetwork
    workspaceId: monitoring.outputs.workspaceId
    tags: tags
  }
}

// One deployment after another, so that a change that is wrong meets one of them.
@batchSize(1)
module deployed 'modules/deployment.bicep' = [
  for (deploymentName, i) in deploymentNames: {
    scope: deploymentGroups[i]
    params: {
      name: name
      deploymentName: deploymentName
      location: deploymentRegions[i]
      appName: apps[i]
      coordinationGroupName: sharedGroup.name
      coordinationAccountName: coordinationAccountName
      coordinationUri: coordination.outputs.blobUri
      containerName: containerName
      jobContainers: jobContainers
      instanceMemoryMB: instanceMemoryMB
      zoneRedundant: zoneRedundant
      maximumInstanceCount: maximumInstanceCount
      authClientId: authClientId
      authTenantId: authTenantId
      privateNetwork: privateNetwork
      addressPrefix: cidrSubnet(addressSpace, 24, i)
      operatorRanges: operatorRanges
      workspaceId: monitoring.outputs.workspaceId
      tags: tags
    }
  }
]

// People need it for the cronlease command: pause, run, unlock write to the container as the app does.
module operatorRoles 'modules/coordination-roles.bicep' = [
  for group in operatorGroups: {
    scope: sharedGroup
    params: {
      accountName: coordinationAccountName
      containerNames: [containerName]
      principalId: group
      principalType: 'Group'
      access: 'contribute'
    }
    dependsOn: [coordination]
  }
]

// For cronlease runs, why and doctor, which read.
module viewerRoles 'modules/coordination-roles.bicep' = [
  for group in viewerGroups: {
    scope: sharedGroup
    params: {
      accountName: coordinationAccountName
      containerNames: [containerName]
      principalId: group
      principalType: 'Group'
      access: 'read'
    }
    dependsOn: [coordination]
  }
]

// Whoever deploys code waits until each app is seen to tick, and an owner of the subscription may not read blobs by
// that. Nothing is said of what they are: they exist already, and it may be a person or a pipeline.
module deployerRole 'modules/coordination-roles.bicep' = {
  scope: sharedGroup
  params: {
    accountName: coordinationAccountName
    containerNames: [containerName]
    principalId: deployer().objectId
    access: 'read'
  }
  dependsOn: [coordination]
}

module deployerRoles 'modules/coordination-roles.bicep' = [
  for identity in deployers: {
    scope: sharedGroup
    params: {
      accountName: coordinationAccountName
      containerNames: [containerName]
      principalId: identity.id
      principalType: identity.type
      access: 'read'
    }
    // Not at the same time: whoever deploys may be one of them.
    dependsOn: [deployerRole]
  }
]

module alerts 'modules/alerts.bicep' = {
  scope: sharedGroup
  params: {
    name: name
    location: location
    workspaceId: monitoring.outputs.workspaceId
    apps: [
      for (app, i) in apps: {
        name: app
        componentId: deployed[i].outputs.componentId
        webTestId: deployed[i].outputs.webTestId
      }
    ]
    overdueJobs: overdueJobs
    emails: alertEmails
    tags: tags
  }
}

@description('The function apps, in the order of the deployments.')
output appNames string[] = apps

@description('The resource group of each app, in the same order.')
output appGroups string[] = [for (deploymentName, i) in deploymentNames: deploymentGroups[i].name]

@description('The host name of each app, in the same order.')
output hostNames string[] = [for (deploymentName, i) in deploymentNames: deployed[i].outputs.hostName]

@description('The first of the apps, which azd deploys to itself.')
output firstAppName string = apps[0]

@description('The resource group of the first app.')
output firstAppGroup string = deploymentGroups[0].name

@description('The blob service of the coordination account, as CRONLEASE_STORAGE__blobServiceUri takes it.')
output coordinationUri string = coordination.outputs.blobUri
