import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseTemplates, readSources, ROOT, type Templates } from './bicep';
import * as app from './check-app';
import * as audit from './check-audit';
import * as naming from './check-names';
import * as jobs from './check-jobs';
import * as security from './check-security';
import * as sharding from './check-shards';
import * as wiring from './check-wiring';
import type { Check } from './checks';

const CHECKS: Readonly<Record<string, Check>> = {
  ...wiring,
  ...security,
  ...app,
  ...jobs,
  ...naming,
  ...sharding,
  ...audit,
};
const SOURCES = readSources();
const JOBS = JSON.parse(readFileSync(path.join(ROOT, 'jobs.json'), 'utf8')) as object;
/** This repository's own app has no job. */
const SOME_JOBS = { jobs: { a: { schedule: '@hourly' } } };

const MAIN = 'infra/main.bicep';
const FOR_EXISTING = 'infra/coordination.bicep';
const DEPLOYMENT = 'infra/modules/deployment.bicep';
const COORDINATION = 'infra/modules/coordination.bicep';
const COORDINATION_ROLES = 'infra/modules/coordination-roles.bicep';
const HOST_ROLES = 'infra/modules/host-roles.bicep';
const NETWORK = 'infra/modules/network.bicep';
const ALERTS = 'infra/modules/alerts.bicep';
const MONITORING = 'infra/modules/monitoring.bicep';
const AUDIT = 'infra/modules/audit.bicep';
const PROD = 'infra/prod.bicepparam';

/** A template with one thing wrong, and what must be said of it. */
type Planted = readonly [check: string, file: string, from: string | RegExp, to: string, says: string];

const PLANTED: readonly Planted[] = [
  ['syntax', MAIN, 'module monitoring ', 'module monitoring = ', 'main.bicep'],
  ['syntax', PROD, "'swedencentral'\n]", "'swedencentral'\n", 'prod.bicepparam'],
  ['modules', MAIN, '      apiReadOnly: apiReadOnly\n', '', 'deployed lacks apiReadOnly'],
  ['modules', MAIN, '    keepDays: keepDays', '    keepDays: keepDays\n    days: 1', 'coordination gives days'],
  ['modules', MAIN, 'modules/alerts.bicep', 'modules/alarms.bicep', 'there is no modules/alarms.bicep'],
  ['modules', PROD, 'param name ', 'param nam ', 'using gives nam'],
  ['modules', NETWORK, 'param location string', 'param location string\n\nparam place string', 'network lacks place'],
  ['leftOver', MAIN, /module alerts [^]*?\n}\n/, '', 'alerts.bicep: is used by nobody'],
  ['leftOver', NETWORK, "var services = ['blob', ", "var unused = 1\nvar services = ['blob', ", 'unused is not used'],
  ['versions', DEPLOYMENT, 'Microsoft.Web/sites@2025-03-01', 'Microsoft.Web/sites@2024-11-01', 'older than 2025-03-01'],
  ['versions', NETWORK, 'Network/privateDnsZones@', 'Network/dnsZones@', 'nothing says how old'],
  ['selfContained', MAIN, "'modules/alerts.bicep'", "'br/public:alerts:1.0.0'", 'from a registry'],
  ['selfContained', NETWORK, '${environment().suffixes.storage}', 'core.windows.net', 'of one cloud'],
  ['closed', COORDINATION, 'allowSharedKeyAccess: false', 'allowSharedKeyAccess: true', 'allowSharedKeyAccess is true'],
  ['closed', DEPLOYMENT, '    allowSharedKeyAccess: false\n', '', 'allowSharedKeyAccess is missing'],
  ['closed', COORDINATION, 'allowBlobPublicAccess: false', 'allowBlobPublicAccess: true', 'PublicAccess is true'],
  ['closed', COORDINATION, "'TLS1_2'", "'TLS1_0'", 'minimumTlsVersion is TLS1_0'],
  ['closed', COORDINATION, "publicAccess: 'None'", "publicAccess: 'Blob'", 'publicAccess is Blob'],
  ['closed', DEPLOYMENT, "privateNetwork ? 'Disabled' : 'Enabled'", "'Enabled'", 'publicNetworkAccess is Enabled'],
  ['closed', DEPLOYMENT, "bypass: 'None'", "bypass: 'Logging, Metrics'", 'bypass is Logging'],
  ['closed', DEPLOYMENT, 'DisableLocalAuth: true', 'DisableLocalAuth: false', 'DisableLocalAuth is false'],
  ['closed', MONITORING, 'disableLocalAuth: true', 'disableLocalAuth: false', 'disableLocalAuth is false'],
  ['caps', MONITORING, /    workspaceCapping: {[^}]*}\n/, '', 'workspace none'],
  ['caps', MONITORING, 'dailyQuotaGb: writesQuotaGB', 'dailyQuotaGb: dailyQuotaGB', 'evidence dailyQuotaGB'],
  ['closed', DEPLOYMENT, 'httpsOnly: true', 'httpsOnly: false', 'httpsOnly is false'],
  ['closed', DEPLOYMENT, 'AdminIsolationEnabled: true', 'AdminIsolationEnabled: false', 'IsolationEnabled is false'],
  ['closed', DEPLOYMENT, 'allow: false', 'allow: true', 'allow is true'],
  ['closed', DEPLOYMENT, '  #disable-next-line BCP187\n  location: location\n', '', 'ftpPasswords.location is missing'],
  [
    'closed',
    DEPLOYMENT,
    'requireAuthentication: true',
    'requireAuthentication: false',
    'requireAuthentication is false',
  ],
  ['login', DEPLOYMENT, "'Return401'", "'AllowAnonymous'", 'with client "" and 0 keys the login is ["AllowAnonymous"'],
  ['login', DEPLOYMENT, "'RedirectToLoginPage'", "'AllowAnonymous'", 'with client "id" and 0 keys'],
  ['login', DEPLOYMENT, '? [healthPath]', "? ['/api/*']", '["/api/*"]'],
  ['login', DEPLOYMENT, "keyedPath = '/api/manage/keyed/*'", "keyedPath = '/api/manage/*'", 'and 1 keys the login is'],
  ['doors', DEPLOYMENT, "name: 'scm'", "name: 'ftp'", 'scm takes passwords'],
  ['closed', DEPLOYMENT, "'08:00:00'", "'720:00:00'", 'timeToExpiration is 720:00:00'],
  ['caps', MONITORING, 'dailyQuotaGb: dailyQuotaGB', 'dailyQuotaGb: -1', 'workspace -1'],
  ['caps', DEPLOYMENT, 'workspaceId: evidenceWorkspaceId', 'workspaceId: workspaceId', 'logged to workspaceId'],
  ['caps', MAIN, 'logWrites ? monitoring.outputs.evidence', 'logWrites ? monitoring.outputs.w', 'a module logs writes'],
  ['doors', NETWORK, /.*host-queue.*\n/, '', 'no private endpoint for hostAccountId queue'],
  ['doors', NETWORK, 'accountId: coordinationAccountId', 'accountId: hostAccountId', 'coordinationAccountId blob'],
  ['wayIn', NETWORK, 'concat([appRange], operatorRanges)', '[appRange]', '["APP","PEOPLE"]'],
  ['wayIn', NETWORK, "access: 'Deny'", "access: 'Allow'", '"Deny"'],
  ['wayIn', NETWORK, "destinationPortRange: '443'", "destinationPortRange: '*'", '"443"'],
  [
    'secrets',
    DEPLOYMENT,
    'identity.properties.clientId }',
    'hostAccount.listKeys().keys[0].value }',
    'listKeys() hands out',
  ],
  ['secrets', MAIN, 'output coordinationUri string', 'output connectionString string', 'named like a secret'],
  ['secrets', MAIN, "param authClientId string = ''", "@secure()\nparam authClientId string = ''", 'is a secret'],
  ['secrets', DEPLOYMENT, "value: 'managedidentity'", "value: 'AccountName=a;AccountKey=b'", 'is a key'],
  ['secrets', DEPLOYMENT, '= component.id', '= component.properties.ConnectionString', 'shows a secret'],
  ['references', DEPLOYMENT, /.*keyVaultReferenceIdentity.*\n/, '', 'keyVaultReferenceIdentity is missing'],
  ['references', DEPLOYMENT, 'Identity: identity.id\n    virt', "Identity: 'other'\n    virt", "is 'other', not one"],
  [
    'references',
    MAIN,
    "receiversUri string = ''",
    "r string = '@Microsoft.KeyVault(x)'",
    'outside of the file of the app',
  ],
  ['roles', HOST_ROLES, /b7e6dc6d-[0-9a-f-]+/, '8e3af657-a8ff-443c-a75c-2fe8c4bcb635', 'is no role that is known'],
  ['roles', HOST_ROLES, /storageTableDataContributor/g, 'tables', 'is not called storageTableDataContributor'],
  ['roles', COORDINATION_ROLES, /2a2b9908-[0-9a-f-]+/, 'x', 'nobody is given Storage Blob Data Reader'],
  ['assignments', COORDINATION_ROLES, '    scope: containers[i]\n', '', 'for all of its resource group'],
  ['assignments', HOST_ROLES, 'guid(account.id, principalId, role.id)', 'newGuid()', 'is not named guid('],
  ['assignments', HOST_ROLES, '      description: role.reason\n', '', 'does not say why'],
  ['assignments', HOST_ROLES, "      principalType: 'ServicePrincipal'\n", '', 'what the principal is'],
  [
    'principals',
    MAIN,
    '      principalType: identity.type\n',
    '',
    'deployerRoles does not say what its principals are',
  ],
  ['settings', DEPLOYMENT, /.*CRONLEASE_TICK.*\n/, '', 'CRONLEASE_TICK is not set'],
  ['settings', DEPLOYMENT, "'CRONLEASE_TICK'", "'CRONLEASE_TOCK'", 'CRONLEASE_TOCK is read by nobody'],
  ['settings', DEPLOYMENT, "'TASKHUB_NAME'", "'CRONLEASE_TICK'", 'CRONLEASE_TICK is set twice'],
  ['settings', DEPLOYMENT, 'AzureWebJobsStorage__tableServiceUri', 'AzureWebJobsStorage', 'tableServiceUri is not set'],
  ['presets', DEPLOYMENT, "'60s'", "'90s'", 'CRONLEASE_SWEEP_INTERVAL is 90s, and 60s in the code'],
  ['presets', MAIN, "containerName = 'cronlease'", "containerName = 'cron'", 'the container is not cronlease'],
  [
    'identity',
    DEPLOYMENT,
    "AzureWebJobsStorage__credential', value: 'managedidentity'",
    "AzureWebJobsStorage__credential', value: 'key'",
    'AzureWebJobsStorage has a key',
  ],
  ['identity', DEPLOYMENT, 'value: coordinationUri', 'value: hostUri', 'is the host account'],
  ['identity', MAIN, '-${id}-${take(', '-${take(', 'two apps share a name'],
  ['identity', DEPLOYMENT, "'${name}${deploymentName}'", "'${name}${location}'", 'share a hub'],
  ['identity', DEPLOYMENT, ';Authorization=AAD', '', 'telemetry is sent without the identity'],
  [
    'identity',
    DEPLOYMENT,
    "'UserAssignedIdentity'",
    "'StorageAccountConnectionString'",
    'the package is fetched without',
  ],
  ['flexConsumption', DEPLOYMENT, "version: '24'", "version: '20'", 'runs node 20'],
  ['flexConsumption', DEPLOYMENT, 'instanceCount: alwaysReady', 'instanceCount: 1', 'always ready is'],
  ['flexConsumption', DEPLOYMENT, 'http20Enabled: true', 'alwaysOn: true', 'refuses alwaysOn'],
  ['flexConsumption', DEPLOYMENT, "'CRONLEASE_TICK'", "'FUNCTIONS_WORKER_RUNTIME'", 'refuses FUNCTIONS_WORKER_RUNTIME'],
  ['flexConsumption', DEPLOYMENT, "'FC1'", "'Y1'", 'the plan is not FC1'],
  ['health', DEPLOYMENT, "'/api/manage/health'", "'/api/health'", 'health is at /api/manage/health'],
  ['health', DEPLOYMENT, ", 'us-tx-sn1-azr'", '', 'more than half'],
  ['health', DEPLOYMENT, "'us-va-ash-azr'", "'emea-nl-ams-azr'", 'more than half'],
  ['health', MAIN, 'availabilityPlaces / 2 + 1', 'availabilityPlaces', 'more than half'],
  ['health', ALERTS, '?? 3', '?? 2', 'more than half'],
  ['outputs', MAIN, 'output appGroups', 'output groups', 'there is no output appGroups'],
  ['parameterFiles', PROD, "  'swedencentral'\n", "  'swedencentral'\n\n\n\n", 'a region takes'],
  ['overdue', MAIN, "'alertAfter'", "'schedule'", 'the overdue rule has'],
  ['overdue', ALERTS, "name: 'job'\n              operator", "name: 'event'\n              operator", 'is split by'],
  ['overdue', ALERTS, 'values: overdueJobs', "values: ['*']", 'is split by'],
  ['lifecycle', MAIN, "?? '90d'", "?? '30d'", 'waits 30 days, and the longest keep is 90'],
  ['lifecycle', COORDINATION, "'AzureServices'", "'None'", 'shuts the lifecycle rule out'],
  ['lifecycle', COORDINATION, '/runs/', '/', 'is for ["cronlease/","cronlease/requests/"'],
  ['lifecycle', COORDINATION, "/audit/'", "/jobs/'", 'cronlease/jobs/'],
  ['lifecycle', COORDINATION, ", 'appendBlob']", ']', 'is for blobs of the kinds ["blockBlob"]'],
  [
    'lifecycle',
    COORDINATION,
    'baseBlob: {',
    'baseBlob: {\n tierToCool: { daysAfterModificationGreaterThan: 7 }',
    'append blobs do not allow',
  ],
  ['lifecycle', COORDINATION, 'GreaterThan: keepDays', 'GreaterThan: 7', 'waits 7'],
  ['lifecycle', COORDINATION, 'isVersioningEnabled: false', 'isVersioningEnabled: true', 'makes a version'],
  ['lifecycle', COORDINATION, 'enabled: true', 'enabled: false', 'what is deleted is gone'],
  ['writesAreLogged', COORDINATION, "'StorageWrite'", "'StorageRead'", 'logs of coordination blobServices'],
  [
    'writesAreLogged',
    DEPLOYMENT,
    "{ category: 'StorageDelete', enabled: true }",
    '',
    'logs of deployment tableServices',
  ],
  [
    'writesAreLogged',
    DEPLOYMENT,
    'scope: hostQueues',
    'scope: hostBlobs',
    'writes to deployment queueServices are not',
  ],
  ['lock', COORDINATION, 'scope: account', 'scope: blobs', 'coordination.bicep blobs CanNotDelete'],
  ['lock', COORDINATION, "'CanNotDelete'", "'ReadOnly'", 'account ReadOnly'],
  ['lock', MAIN, 'deleteLock bool = true', 'deleteLock bool = false', 'is off unless asked for'],
  ['zones', DEPLOYMENT, 'zoneRedundant: zoneRedundant', 'zoneRedundant: false', 'true makes [false,"Standard_ZRS"]'],
  ['zones', DEPLOYMENT, "? 'Standard_ZRS' : ", "? 'Standard_LRS' : ", 'true makes [true,"Standard_LRS"]'],
  ['queries', ALERTS, "event == \\'takenOver\\'", "event == \\'takeOver\\'", 'nothing logs takeOver'],
  ['queries', ALERTS, 'substring(Message, 10)', 'substring(Message, 9)', 'the JSON begins elsewhere'],
  ['queries', ALERTS, 'cronleaseTick', 'cronleaseTock', 'the tick is called cronleaseTick'],
  [
    'lookBack',
    ALERTS,
    "windowSize: 'PT5M'",
    "windowSize: 'PT10M'",
    'silent says 10 minutes, and looks at another span',
  ],
  ['lookBack', ALERTS, 'minFailingPeriodsToAlert: 2', 'minFailingPeriodsToAlert: 1', 'looks at another span'],
  ['queries', ALERTS, "event == \\'unhealthy\\'", "event == \\'healthy\\'", 'no alert is for unhealthy'],
  [
    'lasts',
    ALERTS,
    "dimension: 'deployment'\n    moreThan: 0\n    window: 'PT30M'",
    "dimension: 'deployment'\n    moreThan: 0\n    window: 'PT1M'",
    'unhealthy looks back 1 minutes',
  ],
  ['lasts', DEPLOYMENT, "'60s'", "'3600s'", 'a sweep takes 3600 s'],
  ['names', MAIN, "empty(problems) ? givenNames : fail(join(problems, ' '))", 'givenNames', 'two_b'],
  ['names', MAIN, 'abcdefghijklmnopqrstuvwxyz0123456789', 'abcdefghijklmnopqrstuvwxyz0123456789-', 'My-App'],
  ['names', MAIN, /contains\('[a-z]*', take\(name, 1\)\)/, 'true', '1st'],
  ['names', MAIN, 'union(givenNames, [])', 'givenNames', '["northeurope","northeurope"]'],
  [
    'namesOfOld',
    DEPLOYMENT,
    "'id-${name}-${deploymentName}'",
    "'id-${deploymentName}'",
    'identity is called "id-northeurope"',
  ],
  ['namesOfOld', NETWORK, "'vnet-${name}-${deploymentName}'", "'net-${name}'", 'network is called "net-jobs"'],
  ['namesOfOld', MAIN, 'name, id), 6)', 'name, id), 8)', 'the apps are called'],
  [
    'shards',
    DEPLOYMENT,
    'range(2, length(furtherUris))',
    'range(1, length(furtherUris))',
    'needs CRONLEASE_STORAGE_1__',
  ],
  ['shards', DEPLOYMENT, 'empty(furtherUris) ?', 'furtherUris == null ?', 'one account has CRONLEASE_SHARDS'],
  ['shards', DEPLOYMENT, 'value: furtherUris[i]', 'value: furtherUris[0]', 'accounts are https://b, https://b'],
  [
    'furtherRoles',
    MAIN,
    "type: 'Group', access: 'contribute' }",
    "type: 'Group', access: 'read' }",
    'b o Group read has',
  ],
  ['furtherRoles', MAIN, 'for person in furtherPeople', 'for person in []', 'given to nobody'],
  ['audit', MAIN, 'auditDays int = 0', 'auditDays int = 1', 'unless asked for'],
  ['audit', MAIN, 'auditDays == 0 ?', 'auditDays == 7 ?', '0 days make'],
  ['audit', MAIN, "access: 'record' }", "access: 'read' }", 'the people of the audit are'],
  ['audit', AUDIT, 'InDays: days', 'InDays: 1', 'the policies are 1 false'],
  [
    'audit',
    AUDIT,
    'allowProtectedAppendWrites: false',
    'allowProtectedAppendWrites: true',
    'the policies are days true',
  ],
  [
    'audit',
    DEPLOYMENT,
    '          shardSettings,\n          auditSettings\n',
    '          shardSettings\n',
    'the app lacks',
  ],
  ['audit', DEPLOYMENT, 'CRONLEASE_AUDIT__clientId', 'CRONLEASE_AUDIT__client', 'the app lacks'],
  ['handlers', DEPLOYMENT, "      '${jobsIdentity.id}': {}\n", '', 'alone'],
  ['handlers', DEPLOYMENT, 'value: jobsIdentity.p', 'value: identity.p', 'does not name it'],
  [
    'handlers',
    DEPLOYMENT,
    'principalId: identity.properties.principalId',
    'principalId: jobsIdentity.properties.principalId',
    'has a role',
  ],
  ['alerts', ALERTS, 'actionGroups: groups', 'actionGroups: []', 'tells nobody'],
  ['alerts', ALERTS, '[], actionGroupIds)', '[], [])', 'the alerts are for'],
  ['ownSettings', DEPLOYMENT, 'setting.value), own)', 'setting.value), {})', 'b of the template'],
  ['ownSettings', DEPLOYMENT, '        ownSettings\n      )', '        {}\n      )', 'are dropped'],
  ['givenSettings', FOR_EXISTING, 'CRONLEASE_CONTAINER: ', 'CRONLEASE_CONTAINERS: ', 'is read by nobody'],
  ['givenSettings', FOR_EXISTING, 'CRONLEASE_STORAGE__credential: ', 'a: ', 'the apps are given'],
];

let templates: Templates;
beforeAll(async () => {
  templates = await parseTemplates(SOURCES);
});

describe('the templates', () => {
  it.each(Object.keys(CHECKS))('pass: %s', (name) => {
    expect(CHECKS[name]?.({ templates, jobs: JOBS })).toEqual([]);
  });

  it.each([
    {},
    { a: {} },
    { a: { keep: '400d' }, b: {} },
    { a: { keep: '36h' } },
    { a: { keep: '1d1s' }, b: { keep: '1h30m' } },
    { a: { keep: '172801s', alertAfter: '3d' }, b: { keep: '1d', alertAfter: '1h' }, c: { keep: '10m' } },
  ])('follow jobs.json: %j', (settings) => {
    const file = { jobs: Object.fromEntries(Object.entries(settings).map(([name, job]) => [name, timed(job)])) };
    for (const name of ['lifecycle', 'overdue']) expect(CHECKS[name]?.({ templates, jobs: file })).toEqual([]);
  });
});

function timed(job: object): object {
  return { schedule: '@hourly', ...job };
}

describe('a fault that is planted is found', () => {
  it.each(PLANTED)('%s: %s %s', async (name, file, from, to, says) => {
    const source = SOURCES.get(file) ?? '';
    const wrong = source.replace(from, to);
    expect(wrong).not.toBe(source);
    const planted = await parseTemplates(new Map([...SOURCES, [file, wrong]]));
    const said = CHECKS[name]?.({ templates: planted, jobs: SOME_JOBS }) ?? [];
    expect(said.join('\n')).toContain(says);
  });

  it('for every check', () => {
    expect(new Set(PLANTED.map(([name]) => name))).toEqual(new Set(Object.keys(CHECKS)));
  });
});
