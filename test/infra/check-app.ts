import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DEFAULT_TICK } from '../../src/functions/settings';
import { DEFAULT_CONTAINER } from '../../src/stores/azure-blob/connection';
import type { Node } from 'web-tree-sitter';
import { ROOT, type Templates, childrenOf, literal, member, membersOf, nodesOf } from './bicep';
import { type Check, resourcesOfType } from './checks';
import { evaluate } from './evaluate';
import { hostLogging, isLogged } from '../support/host-levels';

/**
 * What Flex Consumption refuses or ignores:
 * https://learn.microsoft.com/azure/azure-functions/functions-app-settings#flex-consumption-plan-deprecations
 */
const REFUSED_SETTINGS = [
  'ENABLE_ORYX_BUILD',
  'FUNCTIONS_EXTENSION_VERSION',
  'FUNCTIONS_MAX_HTTP_CONCURRENCY',
  'FUNCTIONS_WORKER_PROCESS_COUNT',
  'FUNCTIONS_WORKER_RUNTIME',
  'FUNCTIONS_WORKER_RUNTIME_VERSION',
  'SCM_DO_BUILD_DURING_DEPLOYMENT',
  'WEBSITE_CONTENTAZUREFILECONNECTIONSTRING',
  'WEBSITE_CONTENTOVERVNET',
  'WEBSITE_CONTENTSHARE',
  'WEBSITE_DNS_SERVER',
  'WEBSITE_MAX_DYNAMIC_APPLICATION_SCALE_OUT',
  'WEBSITE_NODE_DEFAULT_VERSION',
  'WEBSITE_RUN_FROM_PACKAGE',
  'WEBSITE_SKIP_CONTENTSHARE_VALIDATION',
  'WEBSITE_TIME_ZONE',
  'WEBSITE_VNET_ROUTE_ALL',
];
const REFUSED_PROPERTIES = [
  'alwaysOn',
  'containerSize',
  'ftpsState',
  'functionAppScaleLimit',
  'healthCheckPath',
  'isXenon',
  'linuxFxVersion',
  'minimumElasticInstanceCount',
  'netFrameworkVersion',
  'nodeVersion',
  'preWarmedInstanceCount',
  'use32BitWorkerProcess',
  'vnetRouteAllEnabled',
  'websiteTimeZone',
  'windowsFxVersion',
];

/** Read by the host, not by cronlease: identity-based storage, telemetry. */
const OF_THE_HOST = [
  'AzureWebJobsStorage__blobServiceUri',
  'AzureWebJobsStorage__queueServiceUri',
  'AzureWebJobsStorage__tableServiceUri',
  'AzureWebJobsStorage__credential',
  'AzureWebJobsStorage__clientId',
  'APPLICATIONINSIGHTS_CONNECTION_STRING',
  'APPLICATIONINSIGHTS_AUTHENTICATION_STRING',
];
/** Read by the code, and rightly not set. */
const LEFT_OUT = new Map([
  ['CRONLEASE_STORAGE', 'is a connection string, which has a key'],
  ['CRONLEASE_JOBS_FILE', 'is for "cronlease dev": the package has one jobs file'],
  ['CRONLEASE_ENVIRONMENT_COLOR', 'has a default'],
  ['CRONLEASE_DEV_SECRET', 'is for "cronlease dev", and keeps an app on Azure from starting'],
  ['CRONLEASE_AUDIT', 'is a connection string, which has a key'],
  ...['blobServiceUri', 'credential', 'clientId'].map(
    (part) =>
      [`CRONLEASE_AUDIT__${part}`, 'is set where there is an audit account, which check-audit.ts checks'] as const,
  ),
  ...['STORAGE', 'AUDIT'].map(
    (connection) =>
      [`CRONLEASE_${connection}__managedIdentityResourceId`, 'is another form of the setting with clientId'] as const,
  ),
  ['CRONLEASE_SHARDS', 'is for several accounts, and the templates make one'],
  ['CRONLEASE_MAX_CONCURRENT_RUNS', 'is a limit that only the handlers of an app can ask for'],
  ['CRONLEASE_METRICS_JOBS', 'has a default for most apps'],
  ['CRONLEASE_LOG_FORMAT', 'has a default for Application Insights, which shows lines as they are'],
  ['CONTAINER_NAME', 'is set by Azure'],
  ['FUNCTIONS_WORKER_DYNAMIC_CONCURRENCY_ENABLED', 'would start processes that tick in turn'],
  ['FUNCTIONS_WORKER_PROCESS_COUNT', 'is refused by Flex Consumption'],
  ['REGION_NAME', 'is set by Azure'],
  ['WEBSITE_AUTH_ENABLED', 'is set by Azure'],
  ['AZURE_FUNCTIONS_ENVIRONMENT', 'is set by the host'],
  ['WEBSITE_HOSTNAME', 'is set by Azure'],
  ['WEBSITE_SITE_NAME', 'is set by Azure'],
  ['WEBSITE_SKU', 'is set by Azure'],
  ['WEBSITE_SLOT_NAME', 'is set by Azure, and Flex Consumption has no slots'],
  ['AzureFunctionsWebHost__hostid', 'is made by the host: no two apps share a host account'],
  ['AzureFunctionsJobHost__functionTimeout', 'is in host.json'],
]);

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

/** The app settings that the deployed code reads, by itself and through host.json. */
function settingsRead(): string[] {
  const files = ['src/functions', 'src/stores', 'src/jobs'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => read(path.join(folder, file))),
  );
  const code = files.join('\n').replaceAll('${CONNECTION}', 'CRONLEASE_STORAGE');
  const ours = [...code.matchAll(/CRONLEASE_[A-Z_]*[A-Z](?:__[a-z]\w*)?/g)].map(([name]) => name);
  const theirs = [...code.matchAll(/env\['(\w+)'\]/g)].map(([, name]) => name ?? '');
  const ofHostJson = [...read('host.json').matchAll(/%(\w+)%/g)].map(([, name]) => name ?? '');
  return [...new Set([...ours, ...theirs, ...ofHostJson])];
}

/** Names and values, as they stand there. */
function settingsOf(site: Node): [string, Node | undefined][] {
  const value = member(site, 'properties', 'siteConfig', 'appSettings');
  // `concat([…], shardSettings)`: the latter are none with one account.
  const entries = childrenOf(value?.type === 'call_expression' ? nodesOf(value).find(isArray) : value);
  return entries.map((entry) => [literal(member(entry, 'name')) ?? '', member(entry, 'value')]);
}

const isArray = ({ type }: Node): boolean => type === 'array';

function sites(templates: Templates): { file: string; body: Node }[] {
  return resourcesOfType(templates, 'Microsoft.Web/sites').map(({ template, resource }) => ({
    file: template.file,
    body: resource.body,
  }));
}

/** Each setting that is read is set, and none that is not. */
export const settings: Check = ({ templates }) =>
  sites(templates).flatMap(({ file, body }) => {
    const set = settingsOf(body).map(([name]) => name);
    const wanted = [...settingsRead().filter((name) => !LEFT_OUT.has(name)), ...OF_THE_HOST];
    return [
      ...wanted.filter((name) => !set.includes(name)).map((name) => `${file}: ${name} is not set`),
      ...set.filter((name) => !wanted.includes(name)).map((name) => `${file}: ${name} is read by nobody`),
      ...set.filter((name, index) => set.indexOf(name) !== index).map((name) => `${file}: ${name} is set twice`),
    ];
  });

/** An app's own settings join the others, and win over them. */
export const ownSettings: Check = ({ templates }) => {
  const template = templates.get('infra/modules/deployment.bicep');
  const merged = template?.functions.get('merged');
  if (template === undefined || merged === undefined) return ['nothing merges the settings of an app'];
  const settings = ['a', 'b'].map((name) => ({ name, value: 'of the template' }));
  const found = evaluate(template, merged.body, { settings, own: { b: 'own', c: 'own' } });
  const wanted = ['a of the template', 'b own', 'c own'];
  const lines = Array.isArray(found) ? found.map((setting) => Object.values(setting ?? {}).join(' ')) : [];
  const isUsed = sites(templates).every(({ body }) => {
    const value = member(body, 'properties', 'siteConfig', 'appSettings');
    return value?.text.startsWith('merged(') === true && /,\s*ownSettings\s*\)$/.test(value.text);
  });
  return [
    ...(lines.join() === wanted.join() ? [] : [`the merged settings are ${lines.join()}`]),
    ...(isUsed ? [] : ["an app's own settings are dropped"]),
  ];
};

/**
 * What `coordination.bicep` gives to apps that exist is read by the code, and reaches storage as their own identity.
 */
export const givenSettings: Check = ({ templates }) => {
  const template = templates.get('infra/coordination.bicep');
  const output = template?.outputs.get('appSettings');
  const names = output === undefined ? [] : (output.text.match(/\bCRONLEASE_\w+(?=:)/g) ?? []);
  const wanted = ['blobServiceUri', 'credential', 'clientId'].map((part) => `CRONLEASE_STORAGE__${part}`);
  wanted.push('CRONLEASE_CONTAINER', 'CRONLEASE_DEPLOYMENT', 'CRONLEASE_ENVIRONMENT');
  const read = settingsRead();
  return [
    ...(names.toSorted().join() === wanted.toSorted().join() ? [] : [`the apps are given ${names.join(', ')}`]),
    ...names.filter((name) => !read.includes(name)).map((name) => `${name} is read by nobody`),
  ];
};

/** What is set is what the code takes without it: the templates change nothing unseen. */
export const presets: Check = ({ templates }) => {
  const main = templates.get('infra/main.bicep');
  const container = main?.variables.get('containerName');
  const register = read('src/functions/coordinators.ts');
  const preset = (name: string): string =>
    `${Number(new RegExp(`'${name}', ([\\d_]+)`).exec(register)?.[1]?.replaceAll('_', '')) / 1000}s`;
  const wanted = new Map([
    ['CRONLEASE_TICK', DEFAULT_TICK],
    ...['CRONLEASE_LOOK_AHEAD', 'CRONLEASE_SWEEP_INTERVAL'].map((name): [string, string] => [name, preset(name)]),
  ]);
  return [
    ...(literal(container) === DEFAULT_CONTAINER ? [] : [`the container is not ${DEFAULT_CONTAINER}`]),
    ...sites(templates).flatMap(({ body }) =>
      [...wanted].flatMap(([name, value]) => {
        const found = literal(new Map(settingsOf(body)).get(name));
        return found === value ? [] : [`${name} is ${found ?? 'computed'}, and ${value} in the code`];
      }),
    ),
  ];
};

/** Storage is reached as the app's own identity, and each app has its own hub, host account and name. */
export const identity: Check = ({ templates }) =>
  sites(templates).flatMap(({ file, body }) => {
    const given = new Map(settingsOf(body));
    const text = (name: string): string => literal(given.get(name)) ?? given.get(name)?.text ?? '';
    const names = templates.get('infra/main.bicep')?.variables.get('apps')?.text ?? '';
    const wrong = (problem: string, isWrong: boolean): string[] => (isWrong ? [`${file}: ${problem}`] : []);
    return [
      ...['AzureWebJobsStorage', 'CRONLEASE_STORAGE'].flatMap((connection) => [
        ...wrong(`${connection} has a key`, text(`${connection}__credential`) !== 'managedidentity'),
        ...wrong(
          `${connection} has no client id`,
          !/^identity\.properties\.clientId$/.test(text(`${connection}__clientId`)),
        ),
      ]),
      ...wrong(
        'telemetry is sent without the identity',
        !/^'ClientId=\$\{identity\.properties\.clientId\};Authorization=AAD'$/.test(
          text('APPLICATIONINSIGHTS_AUTHENTICATION_STRING'),
        ),
      ),
      ...wrong(
        'the coordination account is the host account',
        text('CRONLEASE_STORAGE__blobServiceUri') !== 'coordinationUri',
      ),
      ...wrong('two apps share a hub', !text('TASKHUB_NAME').includes('${deploymentName}')),
      ...wrong('two apps share a name', !names.includes('-${id}-')),
      ...wrong('the deployment is not called as the app', text('CRONLEASE_DEPLOYMENT') !== 'appName'),
      ...wrong(
        'the package is fetched without the identity',
        literal(member(body, 'properties', 'functionAppConfig', 'deployment', 'storage', 'authentication', 'type')) !==
          'UserAssignedIdentity',
      ),
    ];
  });

/** A Flex Consumption app on Node 24 with the instances always ready for Durable, and nothing that the plan refuses. */
export const flexConsumption: Check = ({ templates }) => {
  const plans = resourcesOfType(templates, 'Microsoft.Web/serverfarms');
  const sku = plans.map(({ resource }) => literal(member(resource.body, 'sku', 'name')));
  const problems = sites(templates).flatMap(({ file, body }) => {
    const config = member(body, 'properties', 'functionAppConfig');
    const runtime = ['name', 'version'].map((name) => literal(member(config, 'runtime', name))).join(' ');
    const ready = member(config, 'scaleAndConcurrency', 'alwaysReady');
    const template = templates.get(file);
    const instances = [0, 2].map((alwaysReady) =>
      ready === undefined || template === undefined ? null : evaluate(template, ready, { alwaysReady }),
    );
    const refused = REFUSED_SETTINGS.filter((name) => new Map(settingsOf(body)).has(name));
    const properties = [
      ...membersOf(member(body, 'properties')).keys(),
      ...membersOf(member(body, 'properties', 'siteConfig')).keys(),
    ].filter((name) => REFUSED_PROPERTIES.includes(name));
    return [
      ...(runtime === 'node 24' ? [] : [`${file}: runs ${runtime}`]),
      ...(JSON.stringify(instances) === JSON.stringify([[], [{ name: 'durable', instanceCount: 2 }]])
        ? []
        : [`${file}: always ready is ${JSON.stringify(instances)}`]),
      ...[...refused, ...properties].map((name) => `${file}: Flex Consumption refuses ${name}`),
    ];
  });
  const slots = [...templates.values()].flatMap(({ resources }) =>
    resources.filter(({ type }) => type.startsWith('Microsoft.Web/sites/slots')).map(() => 'there are no slots'),
  );
  return [
    ...(sku.every((name) => name === 'FC1') && sku.length > 0 ? [] : ['the plan is not FC1']),
    ...problems,
    ...slots,
  ];
};

/** Health is open to all, at the path that the code serves, and is asked for from outside. */
export const health: Check = ({ templates }) => {
  const route = /route: '([^']+)'/.exec(read('src/functions/register.ts'))?.[1] ?? '';
  const tests = resourcesOfType(templates, 'Microsoft.Insights/webtests');
  const numbers = [1, 2, 3, 4, 5];
  const askedFrom = tests.map(({ template, resource }) => {
    const places = member(resource.body, 'properties', 'Locations');
    return numbers.map((availabilityPlaces) => {
      const found = places === undefined ? null : evaluate(template, places, { availabilityPlaces });
      return Array.isArray(found) ? new Set(found.map((place) => JSON.stringify(place))).size : 0;
    });
  });
  const [, limit] = /failedPlaces: (.*)/.exec(templates.get('infra/main.bicep')?.source ?? '') ?? [];
  const failing = resourcesOfType(templates, 'Microsoft.Insights/metricAlerts').map(
    ({ resource }) => member(resource.body, 'properties', 'criteria', 'failedLocationCount')?.text,
  );
  const few =
    JSON.stringify(askedFrom) !== JSON.stringify([numbers]) ||
    limit !== 'availabilityPlaces / 2 + 1' ||
    failing.join() !== 'app.?failedPlaces ?? 3';
  const name = /http\('(\w+)'/.exec(read('src/functions/register.ts'))?.[1] ?? '';
  const loud = ['Host.Results', `Function.${name}`, 'Function.cronleaseManage'].filter((category) =>
    isLogged(hostLogging(), category, 'Information'),
  );
  return [
    ...loud.map((category) => `host.json lets ${category} through: the host logs each call, which anybody may make`),
    ...(few ? ['the alert is not on more than half of the places'] : []),
    ...(tests.length === 0 ? ['nobody asks for the health'] : []),
    ...tests.flatMap(({ template, resource }) => {
      const at = literal(template.variables.get('healthPath'));
      const url = member(resource.body, 'properties', 'Request', 'RequestUrl')?.text;
      return [
        ...(at === `/api/${route}` ? [] : [`${template.file}: health is at /api/${route}, not at ${at ?? 'nowhere'}`]),
        ...(url === "'https://${app.properties.defaultHostName}${healthPath}'" ? [] : [`asks for ${url ?? 'nothing'}`]),
      ];
    }),
  ];
};

/** The outputs that pipelines and people need, and no further ones. */
export const outputs: Check = ({ templates }) => {
  const found = [...(templates.get('infra/main.bicep')?.outputs.keys() ?? [])];
  const wanted = ['appNames', 'appGroups', 'firstAppName', 'firstAppGroup', 'hostNames'];
  wanted.push('coordinationUri', 'furtherCoordinationUris');
  return [
    ...wanted.filter((name) => !found.includes(name)).map((name) => `there is no output ${name}`),
    ...found.filter((name) => !wanted.includes(name)).map((name) => `output ${name} is not known`),
  ];
};

/** At most 15 lines for one region, and a line for each further one. */
export const parameterFiles: Check = ({ templates }) => {
  const files = [...templates.values()].filter(({ using }) => using !== undefined);
  return files.flatMap((template) => {
    const { file, source, parameters, root } = template;
    const regions = parameters.get('regions')?.value;
    const more = Math.max(0, childrenOf(regions).length - 1);
    const lines = source.trim().split('\n').length;
    const spanned = (regions?.endPosition.row ?? 0) - (regions?.startPosition.row ?? 0) - 2;
    return [
      ...(lines - 2 * more > 15 ? [`${file}: has ${lines} lines for ${more + 1} regions`] : []),
      ...(spanned > 2 * more ? [`${file}: a region takes ${spanned / Math.max(1, more)} lines`] : []),
      ...nodesOf(root)
        .filter(({ type }) => type === 'call_expression')
        .map(({ text }) => `${file}: calls ${text}`),
    ];
  });
};

/**
 * A plan over several zones has its host account in several:
 * https://learn.microsoft.com/azure/reliability/reliability-functions
 */
export const zones: Check = ({ templates }) => {
  const template = templates.get('infra/modules/deployment.bicep');
  const [plan, account] = ['Microsoft.Web/serverfarms', 'Microsoft.Storage/storageAccounts'].map((type) =>
    template?.resources.find((resource) => resource.type === type && !resource.existing),
  );
  const redundant = member(plan?.body, 'properties', 'zoneRedundant');
  const sku = member(account?.body, 'sku', 'name');
  if (template === undefined || redundant === undefined || sku === undefined) return ['no zones are spoken of'];
  return [true, false].flatMap((zoneRedundant) => {
    const found = JSON.stringify([redundant, sku].map((value) => evaluate(template, value, { zoneRedundant })));
    const wanted = JSON.stringify([zoneRedundant, zoneRedundant ? 'Standard_ZRS' : 'Standard_LRS']);
    return found === wanted ? [] : [`zoneRedundant ${zoneRedundant} makes ${found}, not ${wanted}`];
  });
};
