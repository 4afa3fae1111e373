import { readFileSync } from 'node:fs';
import path from 'node:path';
import { loadJobs } from '../../src/config/load';
import { EVENT_PREFIX } from '../../src/core/event';
import type { Node } from 'web-tree-sitter';
import { childrenOf, literal, member, nodesOf, ROOT, type Template } from './bicep';
import { type Check, type Infra, resourcesOfType } from './checks';
import { evaluate, NotEvaluatedError, type Value } from './evaluate';

const DAY = 86_400_000;

function main({ templates }: Infra): Template {
  const template = templates.get('infra/main.bicep');
  if (template === undefined) throw new Error('there is no infra/main.bicep');
  return template;
}

/** What main.bicep gives to a module's parameter, evaluated with this jobs file: as JSON, or why not. */
function given(infra: Infra, symbol: string, parameter: string): string {
  const template = main(infra);
  const call = template.modules.find((module) => module.symbol === symbol);
  const value = member(call?.body, 'params', parameter);
  if (value === undefined) return 'nothing';
  try {
    // Through JSON, as the compiler reads it.
    const jobs = JSON.parse(JSON.stringify(infra.jobs)) as Value;
    return JSON.stringify(evaluate(template, value, { '../jobs.json': jobs }));
  } catch (error) {
    if (error instanceof NotEvaluatedError) return error.message;
    throw error;
  }
}

/** The overdue rule is one rule, split by job, and its list is exactly the jobs with `alertAfter`. */
export const overdue: Check = (infra) => {
  const { jobs } = loadJobs(infra.jobs).jobsFile;
  const wanted = jobs
    .flatMap(({ name, alertAfterMs }) => (alertAfterMs === undefined ? [] : [String(name)]))
    .toSorted();
  const found = given(infra, 'alerts', 'overdueJobs');
  const rules = resourcesOfType(infra.templates, 'Microsoft.Insights/scheduledQueryRules').filter(({ resource }) =>
    nodesOf(resource.body).some((node) => node.type === 'identifier' && node.text === 'overdueJobs'),
  );
  const split = rules.flatMap(({ template, resource }) =>
    criteriaOf(resource.body).flatMap((rule) =>
      childrenOf(member(rule, 'dimensions')).map((dimension) => {
        const [name, operator, values] = ['name', 'operator', 'values'].map((part) => member(dimension, part));
        return `${template.file} ${literal(name) ?? ''} ${literal(operator) ?? ''} ${values?.text ?? ''}`;
      }),
    ),
  );
  const as = JSON.stringify(split) === JSON.stringify(['infra/modules/alerts.bicep job Include overdueJobs']);
  return [
    ...(found === JSON.stringify(wanted)
      ? []
      : [`the overdue rule has ${found}, and alertAfter is set for ${wanted.join(', ') || 'none'}`]),
    ...(as ? [] : [`the overdue rule is split by ${split.join(' and ') || 'nothing'}`]),
  ];
};

function criteriaOf(rule: Node): Node[] {
  return childrenOf(member(rule, 'properties', 'criteria', 'allOf'));
}

/** What the lifecycle rule deletes, and of which kinds. */
const SHORT_LIVED =
  '["cronlease/runs/","cronlease/requests/","cronlease/logs/","cronlease/audit/","cronlease/notices/"]';
const KINDS = '["blockBlob","appendBlob"]';

/**
 * One lifecycle rule, only for the ledger, the logs, the notices and the audit trail, that waits for as long as the
 * longest `keep`; no versions; soft delete.
 */
export const lifecycle: Check = (infra) => {
  const { jobs } = loadJobs(infra.jobs).jobsFile;
  const longest = Math.max(1, ...jobs.map(({ keepMs }) => Math.ceil(keepMs / DAY)));
  const days = given(infra, 'coordination', 'keepDays');
  const policies = resourcesOfType(infra.templates, 'Microsoft.Storage/storageAccounts/managementPolicies');
  const rules = policies.flatMap(({ template, resource }) =>
    childrenOf(member(resource.body, 'properties', 'policy', 'rules')).map((rule) => ({ template, rule })),
  );
  const container = literal(main(infra).variables.get('containerName')) ?? '';
  const problems = rules.flatMap(({ template, rule }) => {
    const prefixes = member(rule, 'definition', 'filters', 'prefixMatch');
    const found = prefixes && JSON.stringify(evaluate(template, prefixes, { containerName: container }));
    const types = member(rule, 'definition', 'filters', 'blobTypes');
    const kinds = types && JSON.stringify(evaluate(template, types));
    const actions = ['tierToCool', 'tierToCold', 'tierToArchive', 'enableAutoTierToHotFromCool'].filter(
      (action) => member(rule, 'definition', 'actions', 'baseBlob', action) !== undefined,
    );
    const wait = member(rule, 'definition', 'actions', 'baseBlob', 'delete', 'daysAfterModificationGreaterThan')?.text;
    const accounts = template.resources.filter(({ type }) => type === 'Microsoft.Storage/storageAccounts');
    const letsIn = ({ body }: { body: Node }): boolean =>
      literal(member(body, 'properties', 'networkAcls', 'bypass')) === 'AzureServices';
    return [
      ...(accounts.every(letsIn) ? [] : ['a closed network shuts the lifecycle rule out']),
      ...(found === SHORT_LIVED ? [] : [`the lifecycle rule is for ${found ?? 'everything'}`]),
      ...(kinds === KINDS ? [] : [`the lifecycle rule is for blobs of the kinds ${kinds ?? 'unknown'}`]),
      ...actions.map((action) => `the lifecycle rule has ${action}, which append blobs do not allow`),
      ...(wait === 'keepDays' ? [] : [`the lifecycle rule waits ${wait ?? 'for nothing'}`]),
    ];
  });
  const services = resourcesOfType(infra.templates, 'Microsoft.Storage/storageAccounts/blobServices').filter(
    ({ template }) => policies.some((policy) => policy.template === template),
  );
  return [
    ...(days === String(longest) ? [] : [`the lifecycle rule waits ${days} days, and the longest keep is ${longest}`]),
    ...(rules.length === 1 ? [] : [`there are ${rules.length} lifecycle rules`]),
    ...problems,
    ...services.flatMap(({ resource }) => {
      const text = (...names: string[]): string | undefined => member(resource.body, 'properties', ...names)?.text;
      return [
        ...(text('isVersioningEnabled') === 'false' ? [] : ['each write of a row makes a version']),
        ...(text('deleteRetentionPolicy', 'enabled') === 'true' ? [] : ['what is deleted is gone']),
        ...(text('containerDeleteRetentionPolicy', 'enabled') === 'true' ? [] : ['a deleted container is gone']),
      ];
    }),
  ];
};

/** Writes to every service of the accounts that is used are logged, and nothing that is not wanted. */
export const writesAreLogged: Check = ({ templates }) => {
  const settings = resourcesOfType(templates, 'Microsoft.Insights/diagnosticSettings');
  const wanted = JSON.stringify(['StorageWrite', 'StorageDelete'].map((category) => ({ category, enabled: true })));
  const logged = settings.map(({ template, resource }) => {
    const scope = member(resource.body, 'scope')?.text ?? '';
    const type =
      template.resources
        .find(({ symbol }) => symbol === scope)
        ?.type.split('/')
        .at(-1) ?? 'nothing';
    const logs = member(resource.body, 'properties', 'logs');
    const found = logs === undefined ? 'none' : JSON.stringify(evaluate(template, logs));
    const place = `${path.basename(template.file, '.bicep')} ${type}`;
    return { place, problem: found === wanted ? [] : [`logs of ${place}: ${found}, not ${wanted}`] };
  });
  const places = logged.map(({ place }) => place).toSorted();
  const used = ['blobServices', 'queueServices', 'tableServices'].map((service) => `deployment ${service}`);
  return [
    ...logged.flatMap(({ problem }) => problem),
    ...['coordination blobServices', ...used]
      .filter((place) => !places.includes(place))
      .map((place) => `writes to ${place} are not logged`),
  ];
};

/** What the queries look for is what the app logs. */
export const queries: Check = ({ templates }) => {
  const rules = templates.get('infra/modules/alerts.bicep');
  const texts = nodesOf(rules?.root ?? neverMind()).flatMap((node) =>
    node.type === 'string' ? [literal(node) ?? node.text] : [],
  );
  const all = texts.join('\n').replaceAll("\\'", "'");
  const source = readFileSync(path.join(ROOT, 'src/core/event.ts'), 'utf8');
  const union = /export type EventName =(.*?);\n/s.exec(source)?.[1] ?? '';
  const events = [...union.matchAll(/'(\w+)'/g)].map(([, name]) => name ?? '');
  const asked = [...all.matchAll(/\bevent (?:==|in) \(?((?:'\w+'(?:, )?)+)/g)].flatMap(([, names = '']) => [
    ...[...names.matchAll(/'(\w+)'/g)].map(([, name]) => name ?? ''),
  ]);
  const wanted = ['failed', 'timedOut', 'stalled', 'takenOver', 'clockSkew', 'overdue', 'unhealthy'];
  const register = readFileSync(path.join(ROOT, 'src/functions/register.ts'), 'utf8');
  const timer = /app\.timer\('(\w+)'/.exec(register)?.[1] ?? '';
  return [
    ...asked.filter((name) => !events.includes(name)).map((name) => `nothing logs ${name}`),
    ...wanted.filter((name) => !asked.includes(name)).map((name) => `no alert is for ${name}`),
    ...(all.includes(`startswith '${EVENT_PREFIX}{'`) ? [] : [`lines begin with ${EVENT_PREFIX}{`]),
    ...(all.includes(`substring(Message, ${EVENT_PREFIX.length})`) ? [] : ['the JSON begins elsewhere']),
    ...(all.includes(`"Executed 'Functions.${timer}'"`) ? [] : [`the tick is called ${timer}`]),
  ];
};

function neverMind(): never {
  throw new Error('there is no infra/modules/alerts.bicep');
}

/** Every rule tells someone. */
export const alerts: Check = ({ templates }) =>
  ['Microsoft.Insights/scheduledQueryRules', 'Microsoft.Insights/metricAlerts'].flatMap((type) => {
    const rules = resourcesOfType(templates, type);
    const silent = rules.filter(
      ({ resource }) => !/\bgroups\b/.test(member(resource.body, 'properties', 'actions')?.text ?? ''),
    );
    const groups = templates.get('infra/modules/alerts.bicep')?.variables.get('groups')?.text ?? 'nobody';
    const people = 'concat(hasPeople ? [people.id] : [], actionGroupIds)';
    return [
      ...(groups === people ? [] : [`the alerts are for ${groups}`]),
      ...(rules.length === 0 ? [`there is no ${type}`] : []),
      ...silent.map(({ resource }) => `${resource.symbol} tells nobody`),
    ];
  });

/** A log rule looks back its window times its periods, and its description must not say otherwise. */
export const lookBack: Check = ({ templates }) =>
  resourcesOfType(templates, 'Microsoft.Insights/scheduledQueryRules').flatMap(({ resource: { symbol, body } }) => {
    const said = /for (\d+) minutes/.exec(member(body, 'properties', 'description')?.text ?? '')?.[1];
    if (said === undefined) return [];
    const window = /^PT(\d+)M$/.exec(literal(member(body, 'properties', 'windowSize')) ?? '')?.[1];
    const wrong = criteriaOf(body).filter((rule) => {
      const periods = member(rule, 'failingPeriods', 'numberOfEvaluationPeriods')?.text;
      const failing = member(rule, 'failingPeriods', 'minFailingPeriodsToAlert')?.text;
      return Number(window) * Number(periods) !== Number(said) || periods !== failing;
    });
    return wrong.map(() => `${symbol} says ${said} minutes, and looks at another span`);
  });

/** What lasts is logged once a sweep: a rule on it that looks back less than two would resolve itself meanwhile. */
export const lasts: Check = ({ templates }) => {
  const region = templates.get('infra/modules/deployment.bicep');
  const sweep = /'CRONLEASE_SWEEP_INTERVAL', value: '(\d+)s'/.exec(region?.source ?? '')?.[1];
  const text = templates.get('infra/modules/alerts.bicep')?.source ?? '';
  const windows = ['overdue', 'unhealthy'].map((event): [string, string | undefined] => {
    const at = text.indexOf(`event == \\'${event}\\'`);
    // The window of a rule stands within a screen of its filter, on either side.
    const [before, after] = [text.slice(Math.max(0, at - 400), at), text.slice(at, at + 200)];
    const found = event === 'overdue' ? /windowSize: 'PT(\d+)M'/.exec(before) : /window: 'PT(\d+)M'/.exec(after);
    return [event, found?.[1]];
  });
  return windows
    .filter(([, minutes]) => !(Number(minutes) * 60 >= 2 * Number(sweep)))
    .map(
      ([event, minutes]) =>
        `the rule on ${event} looks back ${minutes ?? 'no'} minutes, and a sweep takes ${sweep ?? '?'} s`,
    );
};
