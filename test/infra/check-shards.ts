import { nodesOf } from './bicep';
import type { Check } from './checks';
import { evaluate, type Value } from './evaluate';

const SHARDS = 'CRONLEASE_SHARDS';
const DEPLOYMENT = 'infra/modules/deployment.bicep';
/** What the settings of one account are called. */
const MEMBERS = ['blobServiceUri', 'clientId', 'credential'];

function textIn(entry: Value, name: string): string {
  const value = entry !== null && typeof entry === 'object' && !Array.isArray(entry) ? entry[name] : undefined;
  return typeof value === 'string' ? value : '';
}

/** Several accounts lead to the settings that the app reads, and one account to none. */
export const shards: Check = ({ templates }) => {
  const template = templates.get(DEPLOYMENT);
  const settings = template?.variables.get('shardSettings');
  if (template === undefined || settings === undefined) return [`${DEPLOYMENT}: there are no settings of shards`];
  const settingsWith = (furtherUris: string[]): Map<string, string> => {
    const identity = { properties: { clientId: 'client' } };
    const found = evaluate(template, settings, { furtherUris, identity });
    const entries = Array.isArray(found) ? found : [];
    return new Map(entries.map((entry) => [textIn(entry, 'name'), textIn(entry, 'value')]));
  };
  const one = [...settingsWith([]).keys()];
  const three = settingsWith(['https://b', 'https://c']);
  const list = (three.get(SHARDS) ?? '').split(', ');
  const named = list.slice(1).flatMap((name) => MEMBERS.map((member) => `${name}__${member}`));
  const set = [...three.keys()].filter((name) => name !== SHARDS);
  const uris = list.slice(1).map((name) => three.get(`${name}__blobServiceUri`));
  return [
    ...(one.length === 0 ? [] : [`one account has ${one.join(', ')}`]),
    ...(list[0] === 'CRONLEASE_STORAGE' ? [] : [`the first account of ${list.join(', ')} is another one`]),
    ...(named.toSorted().join() === set.toSorted().join() ? [] : [`${list.join(', ')} needs ${named.join(', ')}`]),
    ...(uris.join() === 'https://b,https://c' ? [] : [`the further accounts are ${uris.join(', ')}`]),
  ];
};

/** Whoever has a role in the first account has the same one in the others. */
export const furtherRoles: Check = ({ templates }) => {
  const main = templates.get('infra/main.bicep');
  const people = main?.variables.get('furtherPeople');
  if (main === undefined || people === undefined) return ['nobody has a role in the further accounts'];
  const given = {
    furtherAccountNames: ['b', 'c'],
    operatorGroups: ['o'],
    viewerGroups: ['v'],
    deployers: [{ id: 'd', type: 'User' }],
  };
  const found = evaluate(main, people, given);
  const lines = Array.isArray(found) ? found.map((person) => Object.values(person ?? {}).join(' ')) : [];
  const wanted = ['b', 'c'].flatMap((account) => [
    `${account} o Group contribute`,
    `${account} v Group read`,
    `${account} d User read`,
  ]);
  const modules = nodesOf(main.root).filter(({ text }) => text === 'furtherPeople').length;
  return [
    ...wanted.filter((line) => !lines.includes(line)).map((line) => `there is no role for ${line}`),
    ...lines.filter((line) => !wanted.includes(line)).map((line) => `${line} has a role`),
    ...(modules > 1 ? [] : ['the roles of the further accounts are given to nobody']),
  ];
};
