// Everything that the coordinator needs: one coordination account, one place for logs and alerts, and one app for each
// deployment. Each deployment has its own resource group, so that none depends on another.
targetScope = 'subscription'

@description('An identity that deploys packages.')
type packageDeployer = {
  @description('Its object id.')
  id: string

  @description('The type of the principal. Without it, Azure looks the principal up, and refuses one that was created minutes ago with PrincipalNotFound.')
  type: 'Group' | 'ServicePrincipal' | 'User'
}

@description('One function app with its own resources.')
type appDeployment = {
  @description('Part of its names: lowercase letters and digits. An app that was named by regions keeps its name if this is its region.')
  @minLength(1)
  @maxLength(20)
  name: string

  @description('Its Azure region, such as northeurope.')
  region: string

  @description('An existing subnet for the app. It is delegated to Microsoft.App/environments. Without it, privateNetwork creates a network.')
  subnetId: string?

  @description('With privateNetwork and subnetId: the subnet for private endpoints of storage. You must make their names resolvable.')
  endpointSubnetId: string?
}

@description('Part of every name. Lowercase letters and digits, beginning with a letter.')
@minLength(3)
@maxLength(9)
param name string = 'cronlease'

@description('The Azure regions to run in, such as northeurope, with one app in each. Append new regions at the end: the order determines the address ranges.')
param regions string[] = []

@description('The apps to run, instead of regions: needed for two apps in one region. Append new apps at the end.')
param deployments appDeployment[] = []

@description('The region of the coordination account, the logs and the alerts.')
param location string = empty(deployments)
  ? (empty(regions) ? deployment().location : regions[0])
  : deployments[0].region

@description('Redundancy of the coordination account: zones of one region, or a copy in the paired region as well.')
param coordinationRedundancy 'Standard_ZRS' | 'Standard_GZRS' = 'Standard_ZRS'

@description('How many coordination accounts there are. With more than one, each job is in one of them, and "cronlease shards" puts the list in force. Never lower it before that command has moved the jobs.')
@minValue(1)
@maxValue(8)
param coordinationAccounts int = 1

@description('Puts a lock on each coordination account: the lock must be deleted before the account. To create the lock, you need Locks Contributor or Owner.')
param deleteLock bool = true

@description('For how many days an audit entry can be neither changed nor deleted, in its own account. 0: there is no such account.')
@minValue(0)
@maxValue(146000)
param auditDays int = 0

@description('Containers in the coordination account that the jobs write to.')
param jobContainers string[] = []

@description('Memory of an instance.')
param instanceMemoryMB 512 | 2048 | 4096 = 2048

@description('Spreads the instances and the host account of each app over zones. Not every region offers this for this plan. Set it at the start.')
param zoneRedundant bool = false

@description('How many instances of each app are always ready to take runs. With 0, the first run after an idle time waits for an instance to start.')
@minValue(0)
@maxValue(20)
param alwaysReady int = 0

@description('The most instances of each app, besides those that are always ready. Not every region accepts less than 40 yet.')
@minValue(1)
@maxValue(1000)
param maximumInstanceCount int = 40

@description('Client id of the Entra application for the API. Empty: the API is closed.')
param authClientId string = ''

@description('The tenant whose users may call the API.')
param authTenantId string = subscription().tenantId

@description('Keys of programs for the API, each NAME:ROLE:SHA256 as in CRONLEASE_API_KEYS. Empty: no path is open to keys.')
param apiKeys string[] = []

@description('The API refuses every change.')
param apiReadOnly bool = false

@description('Object ids of Entra groups whose members may use the cronlease command on the coordination container.')
param operatorGroups string[] = []

@description('Object ids of Entra groups whose members may read the coordination container.')
param viewerGroups string[] = []

@description('The identities that deploy packages. They may read the coordination container.')
param deployers packageDeployer[] = []

@description('The URI of a secret in a key vault with the receivers of notices, as in CRONLEASE_RECEIVERS. Empty: none.')
param receiversUri string = ''

@description('The URI of a secret in a key vault with the addresses that jobs ping, as in CRONLEASE_PINGS. Empty: none.')
param pingsUri string = ''

@description('The hosts to which notices and pings may go, as in CRONLEASE_NOTIFY_HOSTS.')
param notifyHosts string[] = []

@description('The hosts to which jobs with a call may send requests, as in CRONLEASE_CALL_HOSTS.')
param callHosts string[] = []

@description('The address of the dashboard as people reach it, for links in notices. Empty: no links.')
param publicUrl string = ''

@description('Whether metrics and traces of the jobs go to Application Insights (auto), or none (off). They are billed as logs: about 16 KB a run.')
@allowed(['auto', 'off'])
param telemetry string = 'off'

@description('Regular expressions for secrets in what the jobs log. What they match is not stored in the logs of runs.')
param redact string[] = []

@description('The name of the environment, such as production, which the dashboard shows.')
param environmentName string = ''

@description('Further app settings of each app, for the jobs: names and values, or references to a key vault for secrets, because the history of deployments shows the values. They override those of the template. Settings that were made by hand are lost with the next deployment.')
param appSettings { *: string } = {}

@description('An existing Log Analytics workspace for the logs of the apps. Empty: one is created.')
param logWorkspaceId string = ''

@description('Daily log quota of the created workspace, in GB. After that, no log arrives until the next day, and the alert on silent apps fires.')
@minValue(1)
param dailyQuotaGB int = 5

@description('Logs each write to the coordination accounts with its identity, about 4 KB a run. Writes to the audit account are always logged.')
param logWrites bool = false

@description('Logs each write to the host accounts with its identity, about 15 KB a run.')
param logHostWrites bool = false

@description('The daily limit of logs of writes, in GB, separate from the logs of the apps. -1: no limit.')
@minValue(-1)
param writesQuotaGB int = -1

@description('How many places check the health of each app, every 15 minutes. The alert needs a failure from more than half of them. With 0, only the logs show a dead app.')
@minValue(0)
@maxValue(5)
param availabilityPlaces int = 2

@description('The addresses to which alerts are mailed.')
param alertEmails string[] = []

@description('Ids of existing action groups, which alerts notify too.')
param actionGroupIds string[] = []

@description('Storage is reached through private endpoints only; its public access is off.')
param privateNetwork bool = false

@description('Address range from which each app gets a /24. Used only with privateNetwork.')
param addressSpace string = '10.70.0.0/16'

@description('The address ranges of people who use the cronlease command, in networks that are connected to those of the apps. Used only with privateNetwork.')
param operatorRanges string[] = []

@description('Tags for every resource.')
param tags { *: string } = {}

func keepOf(job object) string => job.?keep ?? '90d'

func secondsIn(unit string) int => unit == 'd' ? 86400 : unit == 'h' ? 3600 : unit == 'm' ? 60 : 1

func secondsOf(part string) int => int(take(part, length(part) - 1)) * secondsIn(last(part))

// A duration of jobs.json, such as 90d or 1h30m, in whole days, rounded up.
func daysOf(duration string) int =>
  (86399 + reduce(
    split(trim(replace(replace(replace(duration, 'd', 'd '), 'h', 'h '), 'm', 'm ')), ' '),
    0,
    (sum, part) => sum + secondsOf(part)
  )) / 86400

// Checks the characters of the names of storage accounts and task hubs, because a type can limit only their length. A
// problem makes the deployment fail before it creates anything.
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

// This file makes the names, and not the modules, so that a what-if can predict the deployment.
var deploymentNames = empty(problems) ? givenNames : fail(join(problems, ' '))
var deploymentRegions = concat(regions, map(deployments, app => app.region))
var ownSubnets = concat(
  map(regions, _ => { app: '', endpoints: '' }),
  map(deployments, app => { app: app.?subnetId ?? '', endpoints: app.?endpointSubnetId ?? '' })
)
var coordinationAccountName = 'st${name}${uniqueString(subscription().id, name)}'
var furtherAccountNames = [
  for i in range(2, coordinationAccounts - 1): 'st${name}${uniqueString(subscription().id, name, 'coordination-${i}')}'
]
var auditAccountNames = auditDays == 0 ? [] : ['st${name}${uniqueString(subscription().id, name, 'audit')}']
var apps = [for id in deploymentNames: 'func-${name}-${id}-${take(uniqueString(subscription().id, name, id), 6)}']

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
    workspaceId: logWorkspaceId
    dailyQuotaGB: dailyQuotaGB
    writesQuotaGB: writesQuotaGB
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
    workspaceId: logWrites ? monitoring.outputs.evidenceWorkspaceId : ''
    tags: tags
  }
}

// The jobs are dealt over all accounts. What jobs write lies in the first one.
module furtherCoordination 'modules/coordination.bicep' = [
  for accountName in furtherAccountNames: {
    scope: sharedGroup
    params: {
      location: location
      accountName: accountName
      redundancy: coordinationRedundancy
      deleteLock: deleteLock
      containerName: containerName
      jobContainers: []
      keepDays: keepDays
      privateNetwork: privateNetwork
      workspaceId: logWrites ? monitoring.outputs.evidenceWorkspaceId : ''
      tags: tags
    }
  }
]

// At most one: the second place of audit entries.
module audit 'modules/audit.bicep' = [
  for accountName in auditAccountNames: {
    scope: sharedGroup
    params: {
      location: location
      accountName: accountName
      redundancy: coordinationRedundancy
      deleteLock: deleteLock
      containerName: containerName
      days: auditDays
      privateNetwork: privateNetwork
      workspaceId: monitoring.outputs.evidenceWorkspaceId
      tags: tags
    }
  }
]

// One deployment after another, so that a bad change harms only one of them.
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
      furtherAccountNames: furtherAccountNames
      furtherUris: [for (_, at) in furtherAccountNames: furtherCoordination[at].outputs.blobUri]
      auditAccountNames: auditAccountNames
      auditUris: [for (_, at) in auditAccountNames: audit[at].outputs.blobUri]
      containerName: containerName
      jobContainers: jobContainers
      instanceMemoryMB: instanceMemoryMB
      alwaysReady: alwaysReady
      zoneRedundant: zoneRedundant
      maximumInstanceCount: maximumInstanceCount
      telemetry: telemetry
      redact: redact
      receiversUri: receiversUri
      pingsUri: pingsUri
      notifyHosts: notifyHosts
      callHosts: callHosts
      publicUrl: publicUrl
      authClientId: authClientId
      authTenantId: authTenantId
      apiKeys: apiKeys
      apiReadOnly: apiReadOnly
      environmentName: environmentName
      ownSettings: appSettings
      privateNetwork: privateNetwork
      subnetId: ownSubnets[i].app
      endpointSubnetId: ownSubnets[i].endpoints
      addressPrefix: cidrSubnet(addressSpace, 24, i)
      operatorRanges: operatorRanges
      workspaceId: monitoring.outputs.workspaceId
      evidenceWorkspaceId: monitoring.outputs.evidenceWorkspaceId
      logHostWrites: logHostWrites
      availabilityPlaces: availabilityPlaces
      tags: tags
    }
  }
]

// The cronlease command needs this role: pause, run and unlock write to the container as the app does.
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

// For cronlease runs, why and doctor, which only read.
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

// A deployment of code waits for a tick of each app, so its identity must read blobs; Owner of the subscription does
// not include that. The principal type is left out: the identity exists already, and may be a person or a pipeline.
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
    // Not at the same time: the identity that deploys may be one of them.
    dependsOn: [deployerRole]
  }
]

// The same roles in each further account.
var furtherPeople = flatten(map(
  furtherAccountNames,
  account =>
    concat(
      map(operatorGroups, id => { account: account, id: id, type: 'Group', access: 'contribute' }),
      map(viewerGroups, id => { account: account, id: id, type: 'Group', access: 'read' }),
      map(deployers, identity => { account: account, id: identity.id, type: identity.type, access: 'read' })
    )
))

module furtherDeployerRole 'modules/coordination-roles.bicep' = [
  for account in furtherAccountNames: {
    scope: sharedGroup
    params: {
      accountName: account
      containerNames: [containerName]
      principalId: deployer().objectId
      access: 'read'
    }
    dependsOn: [furtherCoordination]
  }
]

module furtherRoles 'modules/coordination-roles.bicep' = [
  for person in furtherPeople: {
    scope: sharedGroup
    params: {
      accountName: person.account
      containerNames: [containerName]
      principalId: person.id
      principalType: person.type
      access: person.access
    }
    // Not at the same time: the identity that deploys may be one of them.
    dependsOn: [furtherDeployerRole]
  }
]

// Operators' commands record their changes there; viewers can compare.
var auditPeople = flatten(map(
  auditAccountNames,
  account =>
    concat(
      map(operatorGroups, id => { account: account, id: id, access: 'record' }),
      map(viewerGroups, id => { account: account, id: id, access: 'read' })
    )
))

module auditRoles 'modules/coordination-roles.bicep' = [
  for person in auditPeople: {
    scope: sharedGroup
    params: {
      accountName: person.account
      containerNames: [containerName]
      principalId: person.id
      principalType: 'Group'
      access: person.access
    }
    dependsOn: [audit]
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
        failedPlaces: availabilityPlaces / 2 + 1
      }
    ]
    overdueJobs: overdueJobs
    emails: alertEmails
    actionGroupIds: actionGroupIds
    tags: tags
  }
}

@description('The function apps, in the order of the deployments.')
output appNames string[] = apps

@description('The resource group of each app, in the same order.')
output appGroups string[] = [for (deploymentName, i) in deploymentNames: deploymentGroups[i].name]

@description('The host name of each app, in the same order.')
output hostNames string[] = [for (deploymentName, i) in deploymentNames: deployed[i].outputs.hostName]

@description('The first of the apps, the one to which azd itself deploys.')
output firstAppName string = apps[0]

@description('The resource group of the first app.')
output firstAppGroup string = deploymentGroups[0].name

@description('The blob service of the coordination account, for CRONLEASE_STORAGE__blobServiceUri.')
output coordinationUri string = coordination.outputs.blobUri

@description('The blob services of the further coordination accounts, for CRONLEASE_STORAGE_2__blobServiceUri and so on.')
output furtherCoordinationUris string[] = [for (_, at) in furtherAccountNames: furtherCoordination[at].outputs.blobUri]
