import type { Call } from './calls';

type Metadata = Readonly<Record<string, string>>;

/** What the keys of the handlers' fenced writes begin with. A job's name follows, and the value is its token. */
export const FENCED = 'chaos/fenced/';

/** An operation of a transaction, with its value as text. */
interface Operation {
  readonly verb: string;
  readonly key: string;
  readonly value: string;
}

/** The call that a request to an agent of Consul makes, in the coordinator's terms. */
export function callOfRequest(method: string, path: string, body: string): Call {
  if (method !== 'PUT') return { kind: 'other' };
  const [place = ''] = path.split('?');
  if (place.startsWith(`/v1/kv/${FENCED}`)) {
    return { kind: 'fenced', blob: place.slice(`/v1/kv/${FENCED}`.length), token: Number(body) };
  }
  return place === '/v1/txn' ? callOf(operationsIn(body)) : { kind: 'other' };
}

function operationsIn(body: string): readonly Operation[] {
  const all = JSON.parse(body) as readonly {
    readonly KV: { readonly Verb: string; readonly Key: string; readonly Value?: string };
  }[];
  return all.map(({ KV: { Verb: verb, Key: key, Value: value = '' } }) => ({
    verb,
    key,
    value: Buffer.from(value, 'base64').toString('utf8'),
  }));
}

const WRITES = ['set', 'cas', 'lock', 'unlock'];

function callOf(operations: readonly Operation[]): Call {
  const writes = operations.filter(({ verb }) => WRITES.includes(verb));
  if (writes.length === 0) return { kind: isListing(operations) ? 'list' : 'other' };
  for (const { key, value } of writes) {
    const [, job, id] = /^[^/]+\/records\/([^/]+)\/[^/]+\/([^/]+)\/$/.exec(key) ?? [];
    if (job !== undefined && id !== undefined) return recordCall(job, id, value);
  }
  // A row is created with its lease, and without a check.
  const checked = operations.flatMap(({ verb, key }) => (verb === 'check-index' ? [key] : []));
  return checked.length === 0 ? { kind: 'other' } : rowCall(writes, checked);
}

/** Of all rows with their controls, or of one. */
function isListing(operations: readonly Operation[]): boolean {
  const trees = operations.flatMap(({ verb, key }) => (verb === 'get-tree' ? [key] : []));
  return trees.length === 2 && /^[^/]+\/jobs\//.test(trees[0] ?? '') && /^[^/]+\/controls\//.test(trees[1] ?? '');
}

function recordCall(job: string, key: string, head: string): Call {
  const { metadata = {} } = JSON.parse(head) as { readonly metadata?: Metadata };
  const { state = '', through } = metadata;
  return { kind: 'record', job, key, state, through: through === undefined ? undefined : Date.parse(through) };
}

/** A claim may lock the lease again, too. A renewal does not check the row, and a release leaves no id. */
function rowCall(writes: readonly Operation[], checked: readonly string[]): Call {
  const row = writes.find(({ key }) => /^[^/]+\/jobs\/[^/]+\/$/.test(key));
  if (row !== undefined) {
    const { phase = '', attempt, token, busyuntil = '' } = JSON.parse(row.value) as Metadata;
    const job = row.key.split('/')[2] ?? '';
    return { kind: 'row', job, phase, attempt: Number(attempt), token: Number(token), ends: busyuntil !== '' };
  }
  const lease = writes.findLast(({ key }) => /^[^/]+\/jobs\/[^/]+\/lease\/$/.test(key));
  if (lease === undefined) return { kind: 'other' };
  const job = lease.key.split('/')[2] ?? '';
  const { id, isBroken } = JSON.parse(lease.value) as { readonly id?: string; readonly isBroken?: boolean };
  if (isBroken === true) return { kind: 'other' };
  if (id === undefined) return { kind: 'release', job, leaseId: '' };
  const checksRow = checked.some((key) => /^[^/]+\/jobs\/[^/]+\/$/.test(key));
  return { kind: checksRow ? 'acquire' : 'renew', job, leaseId: id };
}
