import path from 'node:path';
import { membersOf, member, nodesOf, type Parameter } from './bicep';
import type { Check } from './checks';

/** The oldest API version of each type that may be used. A later one may be taken any time. */
const VERSIONS = new Map([
  ['Microsoft.Authorization/locks', '2020-05-01'],
  ['Microsoft.Authorization/roleAssignments', '2022-04-01'],
  ['Microsoft.Insights/actionGroups', '2023-01-01'],
  ['Microsoft.Insights/components', '2020-02-02'],
  ['Microsoft.Insights/diagnosticSettings', '2021-05-01-preview'],
  ['Microsoft.Insights/metricAlerts', '2018-03-01'],
  ['Microsoft.Insights/scheduledQueryRules', '2023-12-01'],
  ['Microsoft.Insights/webtests', '2022-06-15'],
  ['Microsoft.ManagedIdentity/userAssignedIdentities', '2024-11-30'],
  ['Microsoft.Network/networkSecurityGroups', '2025-05-01'],
  ['Microsoft.Network/privateDnsZones', '2024-06-01'],
  ['Microsoft.Network/privateEndpoints', '2025-05-01'],
  ['Microsoft.Network/virtualNetworks', '2025-05-01'],
  ['Microsoft.OperationalInsights/workspaces', '2025-02-01'],
  ['Microsoft.Resources/resourceGroups', '2024-11-01'],
  ['Microsoft.Storage/storageAccounts', '2025-06-01'],
  ['Microsoft.Web/serverfarms', '2025-03-01'],
  ['Microsoft.Web/sites', '2025-03-01'],
]);

/** Every file can be read, to its end. */
export const syntax: Check = ({ templates }) =>
  [...templates.values()].flatMap(({ file, root }) => {
    const wrong = nodesOf(root).find((node) => node.isError) ?? root;
    return root.hasError ? [`${file}:${wrong.startPosition.row + 1}: cannot be read`] : [];
  });

/** Each module, and each parameter file, gives what is required and nothing that is not known. */
export const modules: Check = ({ templates }) =>
  [...templates.values()].flatMap((template) => {
    const calls = template.modules.map((call) => ({
      name: call.symbol,
      path: call.path,
      given: [...membersOf(member(call.body, 'params')).keys()],
    }));
    if (template.using !== undefined) {
      calls.push({ name: 'using', path: template.using, given: [...template.parameters.keys()] });
    }
    return calls.flatMap(({ name, path: relative, given }) => {
      const target = templates.get(path.posix.join(path.posix.dirname(template.file), relative));
      if (target === undefined) return [`${template.file}: ${name}: there is no ${relative}`];
      const required = [...target.parameters].filter(([, parameter]) => isRequired(parameter)).map(([key]) => key);
      return [
        ...required.filter((key) => !given.includes(key)).map((key) => `lacks ${key}`),
        ...given.filter((key) => !target.parameters.has(key)).map((key) => `gives ${key}, which is not known`),
      ].map((problem) => `${template.file}: ${name} ${problem}`);
    });
  });

function isRequired({ type, value }: Parameter): boolean {
  return value === undefined && !type.endsWith('?');
}

/** No module is left over, and no parameter of one. */
export const leftOver: Check = ({ templates }) =>
  [...templates.values()].flatMap(({ file, root, parameters, variables }) => {
    const isCalled = [...templates.values()].some((caller) =>
      caller.modules.some((call) => path.posix.join(path.posix.dirname(caller.file), call.path) === file),
    );
    const names = nodesOf(root).filter(({ type }) => type === 'identifier');
    const used = (name: string): boolean => names.filter(({ text }) => text === name).length > 1;
    return [
      ...(file.includes('/modules/') && !isCalled ? [`${file}: is used by nobody`] : []),
      ...(file.endsWith('.bicepparam') ? [] : [...parameters.keys(), ...variables.keys()])
        .filter((name) => !used(name))
        .map((name) => `${file}: ${name} is not used`),
    ];
  });

/** API versions are as old as allowed, or newer. */
export const versions: Check = ({ templates }) =>
  [...templates.values()].flatMap(({ file, resources }) =>
    resources.flatMap(({ symbol, type, version }) => {
      const oldest = VERSIONS.get(type.split('/').slice(0, 2).join('/'));
      if (oldest === undefined) return [`${file}: ${symbol}: nothing says how old ${type} may be`];
      return version < oldest ? [`${file}: ${symbol} is ${type}@${version}, older than ${oldest}`] : [];
    }),
  );

/** Nothing is taken from a registry, and nothing is tied to one of Azure's clouds. */
export const selfContained: Check = ({ templates }) =>
  [...templates.values()].flatMap(({ file, root, modules: calls }) => [
    ...calls
      .filter((call) => /^(br|ts)[:/]/.test(call.path))
      .map((call) => `${file}: ${call.symbol} is from a registry`),
    ...nodesOf(root)
      .filter(
        ({ type, text }) =>
          type === 'string' && /core\.windows\.net|login\.microsoftonline|management\.azure/.test(text),
      )
      .map(({ text }) => `${file}: ${text} is of one cloud: take environment()`),
  ]);
