// The alert rules, and the people that they notify. Can be deployed separately, for apps that log to a workspace that
// exists.

@description('An app and its monitoring.')
type watchedApp = {
  @description('The function app.')
  name: string

  @description('Its Application Insights.')
  componentId: string?

  @description('Its availability test. Without it and componentId, no alert watches the health of the app.')
  webTestId: string?

  @description('How many of its places must fail.')
  failedPlaces: int?
}

@description('Part of every name.')
@minLength(3)
@maxLength(9)
param name string

@description('The region of the rules.')
param location string = resourceGroup().location

@description('The workspace that all apps log to.')
param workspaceId string

@description('The apps.')
param apps watchedApp[]

@description('The jobs that have alertAfter.')
param overdueJobs string[] = []

@description('The addresses to which alerts are mailed.')
param emails string[] = []

@description('Ids of action groups that exist. They are notified too.')
param actionGroupIds string[] = []

@description('Tags for every resource.')
param tags { *: string } = {}

// The app's own events: docs/reference/events.md.
var events = '''
AppTraces
| where Message startswith 'cronlease {'
| extend entry = parse_json(substring(Message, 10))
| project TimeGenerated, event = tostring(entry.event), job = tostring(entry.job), deployment = tostring(entry.deployment)
'''

var eventRules = [
  {
    name: 'failed'
    title: 'A run failed'
    description: 'A run has ended, and its last attempt failed, timed out or stalled. cronlease why gives the reason.'
    filter: 'event in (\'failed\', \'timedOut\', \'stalled\')'
    dimension: 'job'
    moreThan: 0
    window: 'PT30M'
  }
  {
    name: 'take-overs'
    title: 'Take-overs above normal'
    description: 'Holders die more often than deployments and scaling explain. Look for restarts, memory and blocked event loops.'
    filter: 'event == \'takenOver\''
    dimension: 'job'
    moreThan: 3
    window: 'PT1H'
  }
  {
    name: 'trouble'
    title: 'A deployment is in trouble'
    description: 'Storage or the task hub does not answer, cronlease did not write a blob, or a job follows a newer file. The health check asks only one instance, which may not be the one that ticks.'
    filter: 'event == \'unhealthy\''
    dimension: 'deployment'
    moreThan: 0
    window: 'PT30M'
  }
  {
    name: 'clock-skew'
    title: 'Clock skew'
    description: 'The clock of a deployment is more than 2 s off the storage service\'s. No run happens twice, but runs may be late.'
    filter: 'event == \'clockSkew\''
    dimension: 'deployment'
    moreThan: 0
    window: 'PT30M'
  }
]

// Its own group, unless others are named and no one is mailed.
var hasPeople = !empty(emails) || empty(actionGroupIds)
var groups = concat(hasPeople ? [people.id] : [], actionGroupIds)

resource people 'Microsoft.Insights/actionGroups@2023-01-01' = if (hasPeople) {
  name: 'ag-${name}'
  location: 'global'
  tags: tags
  properties: {
    enabled: true
    groupShortName: name
    emailReceivers: [
      for email in emails: {
        name: email
        emailAddress: email
        useCommonAlertSchema: true
      }
    ]
  }
}

// The app logs the overdue jobs at each sweep: a log query looks back two days at most, and alertAfter may be longer.
resource overdue 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = if (!empty(overdueJobs)) {
  name: 'alert-${name}-overdue'
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: 'cronlease: a job is overdue'
    description: 'The job has had no success for longer than its alertAfter.'
    severity: 1
    enabled: true
    scopes: [workspaceId]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    criteria: {
      allOf: [
        {
          query: '${events}| where event == \'overdue\''
          timeAggregation: 'Count'
          operator: 'GreaterThan'
          threshold: 0
          dimensions: [
            {
              name: 'job'
              operator: 'Include'
              values: overdueJobs
            }
          ]
          failingPeriods: {
            numberOfEvaluationPeriods: 1
            minFailingPeriodsToAlert: 1
          }
        }
      ]
    }
    autoMitigate: true
    // A new workspace has no such table until the first app logs.
    skipQueryValidation: true
    actions: {
      actionGroups: groups
    }
  }
}

resource eventAlerts 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [
  for rule in eventRules: {
    name: 'alert-${name}-${rule.name}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: 'cronlease: ${rule.title}'
      description: rule.description
      severity: 2
      enabled: true
      scopes: [workspaceId]
      evaluationFrequency: 'PT15M'
      windowSize: rule.window
      criteria: {
        allOf: [
          {
            query: '${events}| where ${rule.filter}'
            timeAggregation: 'Count'
            operator: 'GreaterThan'
            threshold: rule.moreThan
            dimensions: [
              {
                name: rule.dimension
                operator: 'Include'
                values: ['*']
              }
            ]
            failingPeriods: {
              numberOfEvaluationPeriods: 1
              minFailingPeriodsToAlert: 1
            }
          }
        ]
      }
      autoMitigate: true
      skipQueryValidation: true
      actions: {
        actionGroups: groups
      }
    }
  }
]

// One rule for each app: a rule that is split by app would see no row of a silent one.
resource silent 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [
  for app in apps: {
    name: 'alert-${app.name}-silent'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: 'cronlease: no tick from ${app.name}'
      description: 'The app has not ticked for 10 minutes, or its logs do not arrive. The others run its jobs.'
      severity: 2
      enabled: true
      scopes: [workspaceId]
      evaluationFrequency: 'PT5M'
      // The rule looks back windowSize x numberOfEvaluationPeriods: 10 minutes.
      windowSize: 'PT5M'
      criteria: {
        allOf: [
          {
            // host.json leaves requests out: callers of the public paths could fill the logs with them.
            query: 'AppTraces | where Message startswith "Executed \'Functions.cronleaseTick\'" and AppRoleName =~ \'${app.name}\''
            timeAggregation: 'Count'
            operator: 'LessThan'
            threshold: 1
            failingPeriods: {
              // Late logs do not count as silence.
              numberOfEvaluationPeriods: 2
              minFailingPeriodsToAlert: 2
            }
          }
        ]
      }
      autoMitigate: true
      skipQueryValidation: true
      actions: {
        actionGroups: groups
      }
    }
  }
]

// A condition, and no filter: the number of rules must be known before anything is deployed, or a what-if shows none.
resource unhealthy 'Microsoft.Insights/metricAlerts@2018-03-01' = [
  for app in apps: if (!empty(app.?webTestId)) {
    name: 'alert-${app.name}-unhealthy'
    location: 'global'
    tags: tags
    properties: {
      description: 'manage/health does not answer 200 to more than half of the places that call it. An unhealthy line in the log gives the reason.'
      severity: 1
      enabled: true
      scopes: [app.?webTestId ?? '', app.?componentId ?? '']
      evaluationFrequency: 'PT5M'
      // Each place asks every 15 minutes.
      windowSize: 'PT30M'
      criteria: {
        'odata.type': 'Microsoft.Azure.Monitor.WebtestLocationAvailabilityCriteria'
        webTestId: app.?webTestId ?? ''
        componentId: app.?componentId ?? ''
        failedLocationCount: app.?failedPlaces ?? 3
      }
      autoMitigate: true
      actions: map(groups, id => { actionGroupId: id })
    }
  }
]
