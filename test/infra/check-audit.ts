import { literal, member, membersOf, nodesOf } from './bicep';
import { type Check, resourcesOfType } from './checks';
import { evaluate, type Value } from './evaluate';

const DEPLOYMENT = 'infra/modules/deployment.bicep';
const NAMES = ['blobServiceUri', 'credential', 'clientId'].map((part) => `CRONLEASE_AUDIT__${part}`);

function namesIn(found: Value): string[] {
  const entries = Array.isArray(found) ? found : [];
  return entries.map((entry) => JSON.stringify(entry)).map((text) => /"name":"(\w+)"/.exec(text)?.[1] ?? text);
}

/** With `auditDays`, there is an account with a policy, to which the apps and operators may add; without it, nothing. */
export const audit: Check = ({ templates }) => {
  const [main, deployment] = [templates.get('infra/main.bicep'), templates.get(DEPLOYMENT)];
  const [names, people] = [main?.variables.get('auditAccountNames'), main?.variables.get('auditPeople')];
  const settings = deployment?.variables.get('auditSettings');
  if (main === undefined || deployment === undefined || names === undefined) return ['there is no audit account'];
  if (people === undefined || settings === undefined) return ['nobody writes to the audit account'];
  const identity = { properties: { clientId: 'client' } };
  const settingsWith = (auditUris: string[]): string[] =>
    namesIn(evaluate(deployment, settings, { auditUris, identity }));
  const isSet = nodesOf(deployment.root).filter(({ text }) => text === 'auditSettings').length > 1;
  const given = evaluate(main, people, { auditAccountNames: ['x'], operatorGroups: ['o'], viewerGroups: ['v'] });
  const wanted = '[{"account":"x","id":"o","access":"record"},{"account":"x","id":"v","access":"read"}]';
  const policies = resourcesOfType(
    templates,
    'Microsoft.Storage/storageAccounts/blobServices/containers/immutabilityPolicies',
  ).map(({ template, resource }) =>
    ['immutabilityPeriodSinceCreationInDays', 'allowProtectedAppendWrites']
      .map((name) => member(resource.body, 'properties', name)?.text)
      .concat(template.file, member(resource.body, 'parent')?.text)
      .join(' '),
  );
  const given0 = JSON.stringify(evaluate(main, names, { auditDays: 0 }));
  return [
    ...(given0 === '[]' ? [] : [`0 days make ${given0}`]),
    ...(main.parameters.get('auditDays')?.value?.text === '0' ? [] : ['an audit account is made unless asked for']),
    ...(settingsWith([]).length === 0 ? [] : ['without an audit account, there are settings of one']),
    ...(isSet && settingsWith(['https://a']).join() === NAMES.join() ? [] : [`the app lacks ${NAMES.join(', ')}`]),
    ...(JSON.stringify(given) === wanted ? [] : [`the people of the audit are ${JSON.stringify(given)}`]),
    ...(policies.join() === 'days false infra/modules/audit.bicep container'
      ? []
      : [`the policies are ${policies.join(', ') || 'none'}`]),
  ];
};

/** The handlers' identity belongs to the app, is named to the handlers, and has no role. */
export const handlers: Check = ({ templates }) => {
  const deployment = templates.get(DEPLOYMENT);
  const app = deployment?.resources.find(({ type, existing }) => type === 'Microsoft.Web/sites' && !existing);
  if (deployment === undefined || app === undefined) return ['there is no app'];
  const own = [...membersOf(member(app.body, 'identity', 'userAssignedIdentities')).keys()];
  const identity = deployment.resources.find(({ symbol }) => symbol === 'jobsIdentity');
  const name = member(identity?.body, 'name');
  const uses = nodesOf(deployment.root).filter(
    ({ type, text }) => type === 'member_expression' && text.startsWith('jobsIdentity.'),
  );
  const texts = [...new Set(uses.map(({ text }) => text))].toSorted();
  const setting = /name: 'HANDLERS_CLIENT_ID', value: jobsIdentity\.properties\.clientId/.test(deployment.source);
  return [
    ...(own.includes("'${jobsIdentity.id}'") ? [] : [`the app has the identities ${own.join(' ')} alone`]),
    ...((literal(name) ?? name?.text) === "'id-${name}-${deploymentName}-jobs'" ? [] : ['no identity is for handlers']),
    ...(setting ? [] : ['HANDLERS_CLIENT_ID does not name it']),
    ...(texts.some((text) => text.includes('principalId')) ? ['the identity of handlers has a role'] : []),
  ];
};
