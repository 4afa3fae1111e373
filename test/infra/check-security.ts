import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Check, resourcesOfType } from './checks';
import { childrenOf, literal, member, membersOf, nodesOf, ROOT } from './bicep';
import { evaluate } from './evaluate';

/** https://learn.microsoft.com/azure/role-based-access-control/built-in-roles */
const ROLES = new Map([
  ['b7e6dc6d-f1e8-4753-8033-0f276bb0955b', 'Storage Blob Data Owner'],
  ['974c5e8b-45b9-4653-ba55-5f855dd0fb88', 'Storage Queue Data Contributor'],
  ['0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3', 'Storage Table Data Contributor'],
  ['ba92f5b4-2d11-453d-a403-e96b0029c9fe', 'Storage Blob Data Contributor'],
  ['2a2b9908-6ea1-4ae2-8e65-a410df84e7d1', 'Storage Blob Data Reader'],
  ['3913510d-42f4-4e42-8a64-420c390055eb', 'Monitoring Metrics Publisher'],
]);
const GUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;

/** What must be so, in whichever template such a resource stands. */
const CLOSED: readonly (readonly [type: string, path: string, ...values: string[]])[] = [
  ['Microsoft.Storage/storageAccounts', 'kind', 'StorageV2'],
  ['Microsoft.Storage/storageAccounts', 'properties.allowSharedKeyAccess', 'false'],
  ['Microsoft.Storage/storageAccounts', 'properties.allowBlobPublicAccess', 'false'],
  ['Microsoft.Storage/storageAccounts', 'properties.allowCrossTenantReplication', 'false'],
  ['Microsoft.Storage/storageAccounts', 'properties.defaultToOAuthAuthentication', 'true'],
  ['Microsoft.Storage/storageAccounts', 'properties.supportsHttpsTrafficOnly', 'true'],
  ['Microsoft.Storage/storageAccounts', 'properties.minimumTlsVersion', 'TLS1_2', 'TLS1_3'],
  ['Microsoft.Storage/storageAccounts', 'properties.publicNetworkAccess', "privateNetwork ? 'Disabled' : 'Enabled'"],
  ['Microsoft.Storage/storageAccounts', 'properties.networkAcls.defaultAction', "privateNetwork ? 'Deny' : 'Allow'"],
  ['Microsoft.Storage/storageAccounts', 'properties.networkAcls.bypass', 'None', 'AzureServices'],
  ['Microsoft.Storage/storageAccounts/blobServices/containers', 'properties.publicAccess', 'None'],
  ['Microsoft.Insights/components', 'properties.DisableLocalAuth', 'true'],
  ['Microsoft.OperationalInsights/workspaces', 'properties.features.disableLocalAuth', 'true'],
  ['Microsoft.Web/sites', 'properties.httpsOnly', 'true'],
  ['Microsoft.Web/sites', 'properties.functionsRuntimeAdminIsolationEnabled', 'true'],
  ['Microsoft.Web/sites', 'properties.siteConfig.minTlsVersion', '1.2', '1.3'],
  ['Microsoft.Web/sites', 'properties.siteConfig.scmMinTlsVersion', '1.2', '1.3'],
  [
    'Microsoft.Web/sites',
    'properties.virtualNetworkSubnetId',
    'empty(subnetId) ? network.?outputs.appSubnetId : subnetId',
  ],
  ['Microsoft.Web/sites/basicPublishingCredentialsPolicies', 'properties.allow', 'false'],
  // Azure answers "The parameter location has an invalid value" without it.
  ['Microsoft.Web/sites/basicPublishingCredentialsPolicies', 'location', 'location'],
  ['Microsoft.Web/sites/config', 'properties.platform.enabled', 'true'],
  ['Microsoft.Web/sites/config', 'properties.globalValidation.requireAuthentication', 'true'],
  ['Microsoft.Web/sites/config', 'properties.login.cookieExpiration.convention', 'FixedTime'],
  ['Microsoft.Web/sites/config', 'properties.login.cookieExpiration.timeToExpiration', '08:00:00'],
];

/**
 * Callers without a login are sent to the login page, or refused where no one can log in. The health is open; a path
 * for keys is open only if there are any, and the app believes no login below it.
 */
export const login: Check = ({ templates }) => {
  const configs = resourcesOfType(templates, 'Microsoft.Web/sites/config');
  const keyed = /^const KEYED = '([^']+)';$/m.exec(readFileSync(path.join(ROOT, 'src/manage/serve.ts'), 'utf8'))?.[1];
  const cases = [
    { authClientId: '', apiKeys: [], wanted: ['Return401', null, ['/api/manage/health']] },
    {
      authClientId: 'id',
      apiKeys: [],
      wanted: ['RedirectToLoginPage', 'azureactivedirectory', ['/api/manage/health']],
    },
    {
      ...{ authClientId: 'id', apiKeys: ['ci:viewer:0'] },
      wanted: [
        ...['RedirectToLoginPage', 'azureactivedirectory'],
        ['/api/manage/health', `/api/manage/${keyed ?? 'nothing'}*`],
      ],
    },
  ];
  return configs.flatMap(({ template, resource }) =>
    cases.flatMap(({ authClientId, apiKeys, wanted }) => {
      const parts = ['unauthenticatedClientAction', 'redirectToProvider', 'excludedPaths'].map((name) => {
        const value = member(resource.body, 'properties', 'globalValidation', name);
        return value === undefined ? 'missing' : evaluate(template, value, { authClientId, apiKeys });
      });
      const given = `with client "${authClientId}" and ${apiKeys.length} keys`;
      const found = JSON.stringify(parts);
      return found === JSON.stringify(wanted) ? [] : [`${given} the login is ${found}, not ${JSON.stringify(wanted)}`];
    }),
  );
};

/**
 * Accounts, apps and logs are closed to keys, to anonymous callers, to old TLS, and to the public if it is so wished.
 */
export const closed: Check = ({ templates }) =>
  CLOSED.flatMap(([type, path, ...values]) => {
    const found = resourcesOfType(templates, type);
    if (found.length === 0) return [`there is no ${type}`];
    return found.flatMap(({ template, resource }) => {
      const value = member(resource.body, ...path.split('.'));
      const text = literal(value) ?? value?.text ?? 'missing';
      const wrong = `${template.file}: ${resource.symbol}.${path} is ${text}, not ${values.join(' or ')}`;
      return values.includes(text) ? [] : [wrong];
    });
  });

/** The apps' logs have a cap, and the log of writes to storage goes where there is another one. */
export const caps: Check = ({ templates }) => {
  const quotas = resourcesOfType(templates, 'Microsoft.OperationalInsights/workspaces').map(
    ({ resource }) =>
      `${resource.symbol} ${member(resource.body, 'properties', 'workspaceCapping', 'dailyQuotaGb')?.text ?? 'none'}`,
  );
  const places = resourcesOfType(templates, 'Microsoft.Insights/diagnosticSettings').map(({ template, resource }) => ({
    place: member(resource.body, 'properties', 'workspaceId')?.text ?? 'nowhere',
    // That of the account is given only the one workspace.
    wanted: template.parameters.has('evidenceWorkspaceId') ? 'evidenceWorkspaceId' : 'workspaceId',
  }));
  const main = templates.get('infra/main.bicep');
  const given = ['coordination', 'furtherCoordination', 'audit', 'deployed'].map((module) => {
    const body = main?.modules.find(({ symbol }) => symbol === module)?.body;
    const name = module === 'deployed' ? 'evidenceWorkspaceId' : 'workspaceId';
    const place = member(body, 'params', name)?.text ?? 'nothing';
    // Writes to the coordination accounts are logged if asked for.
    return module.endsWith('oordination') ? place.replace(/^logWrites \? (.*) : ''$/, '$1') : place;
  });
  return [
    ...(quotas.toSorted().join() === 'evidence writesQuotaGB,workspace dailyQuotaGB'
      ? []
      : [`the caps are ${quotas.join()}`]),
    ...places.filter(({ place, wanted }) => place !== wanted).map(({ place }) => `writes are logged to ${place}`),
    ...given
      .filter((place) => place !== 'monitoring.outputs.evidenceWorkspaceId')
      .map((place) => `a module logs writes to ${place}`),
  ];
};

/** Both doors for passwords exist, and each network-isolated account has an endpoint for each service in use. */
export const doors: Check = ({ templates }) => {
  const policies = resourcesOfType(templates, 'Microsoft.Web/sites/basicPublishingCredentialsPolicies');
  const shut = policies.map(({ resource }) => literal(member(resource.body, 'name')));
  const network = templates.get('infra/modules/network.bicep');
  const targets = childrenOf(network?.variables.get('targets')).map((target) =>
    ['accountId', 'service'].map((name) => literal(member(target, name)) ?? member(target, name)?.text).join(' '),
  );
  const wanted = ['blob', 'queue', 'table'].map((service) => `hostAccountId ${service}`);
  return [
    ...['ftp', 'scm'].filter((name) => !shut.includes(name)).map((name) => `${name} takes passwords`),
    ...[...wanted, 'coordinationAccountId blob']
      .filter((target) => !targets.includes(target))
      .map((target) => `there is no private endpoint for ${target}`),
  ];
};

/**
 * Azure resolves a reference to a key vault with the system-assigned identity unless the app names another one, which
 * it must have: https://learn.microsoft.com/azure/app-service/app-service-key-vault-references
 */
export const references: Check = ({ templates }) =>
  [...templates.values()].flatMap(({ file, source, resources }) => {
    const refers = /@Microsoft\.(?:KeyVault|AppConfiguration)\(/;
    if (!refers.test(source)) return [];
    const apps = resources.filter(({ type, existing }) => type === 'Microsoft.Web/sites' && !existing);
    if (apps.length === 0) return [`${file}: refers to a key vault outside of the file of the app`];
    return apps.flatMap(({ symbol, body }) => {
      const reader = member(body, 'properties', 'keyVaultReferenceIdentity')?.text ?? 'missing';
      const own = [...membersOf(member(body, 'identity', 'userAssignedIdentities')).keys()];
      return own.includes(`'\${${reader}}'`)
        ? []
        : [`${file}: ${symbol}.keyVaultReferenceIdentity is ${reader}, not one of its own: ${own.join(' ')}`];
    });
  });

/** Nothing hands out a key, takes a secret, or shows one. */
export const secrets: Check = ({ templates }) =>
  [...templates.values()].flatMap(({ file, source, root, parameters, outputs }) => {
    const calls = nodesOf(root).filter(({ type }) => type === 'call_expression');
    const listed = calls.map((call) => childrenOf(call)[0]?.text ?? '').filter((name) => /^list[A-Z]/.test(name));
    const methods = [...source.matchAll(/\.\s*(list\w+)\s*\(/g)].map(([, name]) => name);
    const texts = nodesOf(root).filter(({ type }) => type === 'string');
    const keys = texts.filter(({ text }) =>
      /AccountKey|SharedAccess|InstrumentationKey|sig=|DefaultEndpointsProtocol/i.test(text),
    );
    const named = [...parameters.keys(), ...outputs.keys()].filter((name) =>
      /secret|password|connectionString|accessKey|sas(?:$|[A-Z])|[a-z]Key$|^key$/i.test(name),
    );
    const shown = [...outputs].filter(([, value]) => /ConnectionString|InstrumentationKey|Key\b/.test(value.text));
    return [
      ...[...listed, ...methods].map((name) => `${file}: ${name}() hands out a key`),
      ...keys.map(({ text }) => `${file}: ${text} is a key, or has one`),
      ...named.map((name) => `${file}: ${name} is named like a secret`),
      ...shown.map(([name]) => `${file}: output ${name} shows a secret`),
      ...(/@secure\(/.test(source) ? [`${file}: a parameter is a secret`] : []),
    ];
  });

/** Every id of a role is known and is called by the role's name; every role that is needed is given. */
export const roles: Check = ({ templates }) => {
  const used = new Set<string>();
  const problems = [...templates.values()].flatMap(({ file, source, variables }) => {
    const ids = [...source.matchAll(GUID)].map(([id]) => id.toLowerCase());
    const named = new Map([...variables].map(([name, value]) => [literal(value)?.toLowerCase(), name]));
    return ids.flatMap((id) => {
      used.add(id);
      const role = ROLES.get(id);
      if (role === undefined) return [`${file}: ${id} is no role that is known`];
      const name = role.replaceAll(' ', '').replace(/^./, (letter) => letter.toLowerCase());
      return named.get(id) === name ? [] : [`${file}: ${id} is not called ${name}`];
    });
  });
  const missing = [...ROLES].filter(([id]) => !used.has(id)).map(([, role]) => `nobody is given ${role}`);
  return [...problems, ...missing];
};

/** Each assignment is of one role to one principal on one thing, is named after the three, and says why. */
export const assignments: Check = ({ templates }) =>
  resourcesOfType(templates, 'Microsoft.Authorization/roleAssignments').flatMap(({ template, resource }) => {
    const { symbol, body } = resource;
    const scope = member(body, 'scope')?.text;
    const role = /roleDefinitions', (.+)\)$/.exec(member(body, 'properties', 'roleDefinitionId')?.text ?? '')?.[1];
    const name = `guid(${scope ?? ''}.id, principalId, ${role ?? ''})`;
    const reason = member(body, 'properties', 'description');
    const has = [...membersOf(member(body, 'properties')).keys()];
    return [
      ...(scope === undefined ? [`${symbol} is for all of its resource group`] : []),
      ...(member(body, 'name')?.text === name ? [] : [`${symbol} is not named ${name}`]),
      ...(reason === undefined || literal(reason) === '' ? [`${symbol} does not say why`] : []),
      ...(has.includes('principalType') ? [] : [`${symbol} does not say what the principal is`]),
    ].map((problem) => `${template.file}: ${problem}`);
  });

/**
 * Azure cannot look up a principal that was made minutes ago: only of whoever deploys, who is logged in, nothing is
 * said.
 */
export const principals: Check = ({ templates }) =>
  [...templates.values()].flatMap(({ file, modules }) =>
    modules
      .filter(({ path }) => path.endsWith('coordination-roles.bicep'))
      .filter(({ body }) => member(body, 'params', 'principalId')?.text !== 'deployer().objectId')
      .filter(({ body }) => member(body, 'params', 'principalType') === undefined)
      .map(({ symbol }) => `${file}: ${symbol} does not say what its principals are`),
  );

/**
 * Into the subnet of the private endpoints come the app and the ranges that were given, over HTTPS, and no one else.
 */
export const wayIn: Check = ({ templates }) => {
  const network = templates.get('infra/modules/network.bicep');
  const rules = network?.resources.find(({ symbol }) => symbol === 'endpointRules');
  if (network === undefined || rules === undefined) return ['the private endpoints have no rules'];
  const [first, second, ...more] = childrenOf(member(rules.body, 'properties', 'securityRules'));
  const text = (rule: typeof first, name: string): string => {
    const value = member(rule, 'properties', name);
    const ranges = { appRange: 'APP', endpointRange: 'ENDPOINTS', operatorRanges: ['PEOPLE'] };
    return value === undefined ? '' : JSON.stringify(evaluate(network, value, ranges));
  };
  const parts = ['access', 'sourceAddressPrefixes', 'sourceAddressPrefix', 'destinationPortRange'];
  const found = [first, second].map((rule) => parts.map((name) => text(rule, name)).join(' '));
  const wanted = ['"Allow" ["APP","PEOPLE"]  "443"', '"Deny"  "*" "*"'];
  return [
    ...(more.length === 0 ? [] : ['there are more rules than two']),
    ...wanted.filter((rule, index) => found[index] !== rule).map((rule) => `a rule of the endpoints is not ${rule}`),
  ];
};

/** The coordination account, whose tokens must never begin again, and the audit cannot be deleted by mistake. */
export const lock: Check = ({ templates }) => {
  const locks = resourcesOfType(templates, 'Microsoft.Authorization/locks').map(({ template, resource }) =>
    [
      template.file,
      member(resource.body, 'scope')?.text,
      literal(member(resource.body, 'properties', 'level')),
      /resource lock .* = if \((\w+)\)/.exec(template.source)?.[1],
    ].join(' '),
  );
  const preset = templates.get('infra/main.bicep')?.parameters.get('deleteLock')?.value?.text;
  const wanted = ['audit', 'coordination'].map((name) => `infra/modules/${name}.bicep account CanNotDelete deleteLock`);
  return [
    ...(locks.toSorted().join() === wanted.join()
      ? []
      : [`locks: ${locks.join(', ') || 'none'}, not ${wanted.join()}`]),
    ...(preset === 'true' ? [] : ['the lock is off unless asked for']),
  ];
};
