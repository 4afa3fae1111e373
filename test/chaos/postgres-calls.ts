import type { Call } from './calls';

type Metadata = Readonly<Record<string, string>>;

/** The call that a statement on PostgreSQL makes, in the coordinator's terms. Texts of values, by their order. */
export function callOfStatement(sql: string, values: readonly string[]): Call {
  const [first = '', second = '', third = ''] = values;
  const text = sql.replaceAll(/\s+/g, ' ');
  if (text.startsWith('select t.date, x.*')) return { kind: 'list' };
  const [, verb, table, rest = ''] = /^(insert into|update) "[^"]+"\.(\w+) (.*)$/.exec(text) ?? [];
  if (table === 'fenced') return { kind: 'fenced', blob: first, token: Number(second) };
  if (table === 'records') {
    const { state = '', through } = JSON.parse(third) as Metadata;
    const until = through === undefined ? undefined : Date.parse(through);
    return { kind: 'record', job: first, key: second, state, through: until };
  }
  if (table !== 'jobs' || verb !== 'update') return { kind: 'other' };
  if (rest.startsWith('set lease_id = $2')) return { kind: 'acquire', job: first, leaseId: second };
  if (rest.startsWith('set lease_until = ')) return { kind: 'renew', job: first, leaseId: second };
  if (rest.startsWith('set lease_id = null')) return { kind: 'release', job: first, leaseId: second };
  if (!rest.startsWith('set metadata = $2')) return { kind: 'other' };
  const { phase = '', attempt, token, busyuntil = '' } = JSON.parse(second) as Metadata;
  return { kind: 'row', job: first, phase, attempt: Number(attempt), token: Number(token), ends: busyuntil !== '' };
}
