import type { Call } from './calls';

type Metadata = Readonly<Record<string, string>>;

/** What the keys of the handlers' fenced writes begin with. A job's name follows, and the value is its token. */
export const FENCED = '/chaos/fenced/';

interface Keyed {
  readonly key?: string;
  readonly value?: string;
}

interface Transaction {
  readonly compare?: readonly (Keyed & { readonly target?: string })[];
  readonly success?: readonly Readonly<Record<string, Keyed>>[];
}

/** The operations of a transaction that succeeds, by their kind, with keys and values as texts. */
interface Operations {
  readonly puts: ReadonlyMap<string, string>;
  readonly removed: readonly string[];
  readonly read: readonly string[];
}

/** The call that a request to etcd's gateway makes, in the coordinator's terms. */
export function callOfRequest(path: string, body: string): Call {
  if (path !== '/v3/kv/txn') return { kind: 'other' };
  const transaction = JSON.parse(body) as Transaction;
  const operations = operationsIn(transaction);
  const { puts, removed, read } = operations;
  if (puts.size === 0 && removed.length === 0) return { kind: isListing(read) ? 'list' : 'other' };
  for (const [key, value] of puts) {
    if (key.startsWith(FENCED)) return { kind: 'fenced', blob: key.slice(FENCED.length), token: Number(value) };
    const [, recordJob, id] = /^\/[^/]+\/records\/([^/]+)\/([^/]+)$/.exec(key) ?? [];
    if (recordJob !== undefined && id !== undefined) return recordCall(recordJob, id, value);
  }
  return rowCall(operations, transaction);
}

function operationsIn({ success = [] }: Transaction): Operations {
  const all = success.flatMap((operation) => Object.entries(operation));
  const of = (kind: string): readonly Keyed[] => all.flatMap(([name, keyed]) => (name === kind ? [keyed] : []));
  return {
    puts: new Map(of('request_put').map(({ key, value }) => [decoded(key), decoded(value)])),
    removed: of('request_delete_range').map(({ key }) => decoded(key)),
    read: of('request_range').map(({ key }) => decoded(key)),
  };
}

/** Of all rows with their controls, or of one. */
function isListing(read: Operations['read']): boolean {
  const [rows, , , controls] = read;
  return rows !== undefined && controls !== undefined && /^\/[^/]+\/jobs\//.test(rows);
}

function recordCall(job: string, key: string, head: string): Call {
  const { metadata = {} } = JSON.parse(head) as { readonly metadata?: Metadata };
  const { state = '', through } = metadata;
  return { kind: 'record', job, key, state, through: through === undefined ? undefined : Date.parse(through) };
}

function rowCall({ puts, removed, read }: Operations, { compare = [] }: Transaction): Call {
  const keyOf = (place: string, keys: Iterable<string>): string | undefined =>
    [...keys].find((key) => new RegExp(`^/[^/]+/${place}/[^/]+$`).test(key));
  const holder = keyOf('jobs-holders', puts.keys());
  if (holder !== undefined) return { kind: 'acquire', job: nameIn(holder), leaseId: puts.get(holder) ?? '' };
  const freed = keyOf('jobs-holders', removed);
  if (freed !== undefined) {
    const held = compare.find(({ key, target }) => target === 'VALUE' && decoded(key) === freed);
    return { kind: 'release', job: nameIn(freed), leaseId: decoded(held?.value) };
  }
  const lock = keyOf('jobs-locks', puts.keys());
  if (lock !== undefined) return { kind: 'renew', job: nameIn(lock), leaseId: puts.get(lock) ?? '' };
  const row = keyOf('jobs', puts.keys());
  // A row is created without a look at its lease.
  if (row === undefined || read.length === 0) return { kind: 'other' };
  const { phase = '', attempt, token, busyuntil = '' } = JSON.parse(puts.get(row) ?? '{}') as Metadata;
  const job = nameIn(row);
  return { kind: 'row', job, phase, attempt: Number(attempt), token: Number(token), ends: busyuntil !== '' };
}

function nameIn(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

function decoded(text: string | undefined): string {
  return Buffer.from(text ?? '', 'base64').toString('utf8');
}
