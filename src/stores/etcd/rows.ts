import type { ETag, JobName } from '../../core/brand';
import type { CallOptions, LeaseBreaking, ListedRow, Metadata, RowStore } from '../../lease/store';
import { listedLease } from '../lease-automaton';
import { checkMetadata, leaseSeconds } from '../limits';
import { type RowCalls, etagOf } from '../port';
import type { Ask, Question } from './ask';
import type { RowKeys } from './keys';
import {
  all,
  type Found,
  get,
  hasRevision,
  hasValue,
  isAbsent,
  type KeyValue,
  put,
  remove,
  type TransactionAnswer,
} from './wire';

/** The keys of one row. */
interface Names {
  readonly row: string;
  readonly holder: string;
  readonly terms: string;
  readonly lock: string;
}

function namesIn({ rows, holders, terms, locks }: RowKeys, job: JobName): Names {
  return { row: `${rows}${job}`, holder: `${holders}${job}`, terms: `${terms}${job}`, lock: `${locks}${job}` };
}

/** @param keys of rows with leases: those of jobs, or of elections */
export function rowCalls(ask: Ask, keys: RowKeys): RowCalls {
  return {
    ...readAndWrite(ask, keys),
    acquire: acquisition(ask, keys),
    ...renewAndRelease(ask, keys),
    breakLease: breaking(ask, keys),
  };
}

function readAndWrite(ask: Ask, keys: RowKeys): Pick<RowStore, 'createRow' | 'readRow' | 'writeRow'> {
  return {
    async createRow(job, metadata, options) {
      checkMetadata(metadata);
      const { row } = namesIn(keys, job);
      const question = { what: `create the row of ${job}`, kind: 'write', options } as const;
      const { succeeded } = await ask.transact(question, {
        compare: [isAbsent(row)],
        success: [put(row, JSON.stringify(metadata))],
      });
      return succeeded ? 'created' : 'exists';
    },
    async readRow(job, options) {
      const seen = await readWhole(ask, keys, job, { what: `read the row of ${job}`, kind: 'read', options });
      return seen.row && rowIn(seen as SeenRow & { row: KeyValue });
    },
    /** The guard of a claim: this revision, under this lease, which has not ended. */
    async writeRow(job, metadata, { leaseId, ifMatch }, options) {
      checkMetadata(metadata);
      const { row, lock } = namesIn(keys, job);
      const question = { what: `write the row of ${job}`, kind: 'metadata', options } as const;
      const { succeeded, revision, found, date } = await ask.transact(question, {
        compare: [hasRevision(row, revisionOf(ifMatch)), hasValue(lock, leaseId)],
        success: [put(row, JSON.stringify(metadata)), get(lock)],
      });
      if (!succeeded) return { kind: 'refused' };
      const leftMs = await leftOf(ask, `measure the lease of ${job}`, only(found[1])?.lease, options);
      return { kind: 'written', etag: etagOf(revision), date, leftMs };
    },
  };
}

function acquisition(ask: Ask, keys: RowKeys): RowStore['acquire'] {
  return async (job, { leaseId, leaseMs, ifMatch }, options) => {
    const { row, holder, terms, lock } = namesIn(keys, job);
    const seconds = leaseSeconds(leaseMs);
    const question = { what: `acquire the lease of ${job}`, kind: 'acquire', options } as const;
    const { lease, date } = await ask.grant(question, seconds);
    const isSeen = hasRevision(row, revisionOf(ifMatch));
    const success = [put(holder, leaseId), put(terms, String(seconds)), put(lock, leaseId, lease)];
    const first = await ask.transact(question, {
      compare: [isSeen, isAbsent(lock)],
      success,
      failure: [get(terms), get(lock)],
    });
    if (first.succeeded) return { kind: 'acquired', date };
    const [held, locked] = first.found.map(only);
    // With the id that holds it, this is a renewal.
    if (locked?.value !== leaseId || held === undefined || isBroken(held)) return { kind: 'lost' };
    const compare = [isSeen, hasValue(lock, leaseId), hasRevision(terms, held.mod)];
    const { succeeded } = await ask.transact(question, { compare, success });
    return succeeded ? { kind: 'acquired', date } : { kind: 'lost' };
  };
}

function renewAndRelease(ask: Ask, keys: RowKeys): Pick<RowStore, 'renew' | 'release'> {
  return {
    /**
     * With a new lease of etcd, on which the cluster agrees. A renewal of the old one is answered by one member, and by
     * one that does not know yet that another leads.
     */
    async renew(job, leaseId, options) {
      const { holder, terms, lock } = namesIn(keys, job);
      const question = { what: `renew the lease of ${job}`, kind: 'renew', options } as const;
      const isOurs = hasValue(holder, leaseId);
      const seen = await ask.transact(question, { compare: [isOurs], success: [get(terms)] });
      const held = only(seen.found[0]);
      if (!seen.succeeded || held === undefined || isBroken(held)) return 'lost';
      const { lease } = await ask.grant(question, Number(held.value));
      // Whoever acquires, releases or breaks it writes or removes the terms.
      const { succeeded } = await ask.transact(question, {
        compare: [isOurs, hasRevision(terms, held.mod)],
        success: [put(lock, leaseId, lease)],
      });
      return succeeded ? 'renewed' : 'lost';
    },
    async release(job, leaseId, options) {
      const { row, holder, terms, lock } = namesIn(keys, job);
      const ifMatch = options?.ifMatch;
      const question = { what: `release the lease of ${job}`, kind: 'release', options } as const;
      const { succeeded } = await ask.transact(question, {
        compare: [hasValue(holder, leaseId), ...(ifMatch === undefined ? [] : [hasRevision(row, revisionOf(ifMatch))])],
        success: [remove(holder), remove(terms), remove(lock)],
      });
      return succeeded ? 'released' : 'lost';
    },
  };
}

/** The lock stays until its lease ends, and nothing renews it any more. */
function breaking(ask: Ask, keys: RowKeys): LeaseBreaking['breakLease'] {
  return async (job, ifMatch, options) => {
    const { row, terms, lock } = namesIn(keys, job);
    const question = { what: `break the lease of ${job}`, kind: 'break', options } as const;
    const isSeen = hasRevision(row, revisionOf(ifMatch));
    const seen = await ask.transact(question, { compare: [isSeen], success: [get(terms)] });
    const held = only(seen.found[0]);
    if (!seen.succeeded || held === undefined) return { kind: 'lost' };
    const { succeeded, found } = await ask.transact(question, {
      compare: [isSeen, hasRevision(terms, held.mod)],
      success: [put(terms, `${held.value.replace(BROKEN, '')}${BROKEN}`), get(lock)],
    });
    if (!succeeded) return { kind: 'lost' };
    return { kind: 'broken', leftMs: await leftOf(ask, question.what, only(found[1])?.lease, options) };
  };
}

const BROKEN = ' broken';

function isBroken({ value }: KeyValue): boolean {
  return value.endsWith(BROKEN);
}

/** @param lease undefined: the lock has gone, or was put there without one */
export async function leftOf(
  ask: Ask,
  what: string,
  lease: string | undefined,
  options: CallOptions | undefined,
): Promise<number> {
  return lease === undefined ? 0 : ask.remaining({ what, kind: 'properties', options }, lease);
}

/** The keys of a row, as of one revision. */
interface SeenRow {
  readonly row: KeyValue | undefined;
  readonly terms: KeyValue | undefined;
  readonly lock: KeyValue | undefined;
}

async function readWhole(ask: Ask, keys: RowKeys, job: JobName, question: Question): Promise<SeenRow> {
  const names = namesIn(keys, job);
  const hasNoRow = ({ found }: TransactionAnswer): boolean => found[0]?.kvs.length === 0;
  const success = [get(names.row), get(names.terms), get(names.lock)];
  const { found } = await ask.transact(question, { success }, hasNoRow);
  const [row, terms, lock] = found.map(only);
  return { row, terms, lock };
}

export function rowIn({ row, terms, lock }: SeenRow & { readonly row: KeyValue }): ListedRow {
  const isHeld = terms !== undefined;
  const lease = { holder: terms?.value, isBroken: isHeld && isBroken(terms), isOver: lock === undefined };
  return { etag: etagOf(row.mod), ...listedLease(lease), metadata: JSON.parse(row.value) as Metadata };
}

export async function allRows(
  ask: Ask,
  keys: RowKeys,
  options: CallOptions | undefined,
): Promise<ReadonlyMap<JobName, ListedRow>> {
  const question = { what: 'list elections', kind: 'listing', options } as const;
  const { found } = await ask.transact(question, { success: rangesOf(keys) });
  return rowsIn(keys, found);
}

/** Of all rows with their leases. */
export function rangesOf({ rows, terms, locks }: RowKeys) {
  return [all(rows), all(terms), all(locks, { keysOnly: true })];
}

/** What {@link rangesOf} has found, in order of name. */
export function rowsIn({ rows, terms, locks }: RowKeys, found: readonly Found[]): ReadonlyMap<JobName, ListedRow> {
  const [listedRows, held, locked] = [rows, terms, locks].map((prefix, index) => byName(prefix, found[index]));
  return new Map(
    [...(listedRows ?? [])].map(([name, row]) => [
      name as JobName,
      rowIn({ row, terms: held?.get(name), lock: locked?.get(name) }),
    ]),
  );
}

export function byName(prefix: string, found: Found | undefined): ReadonlyMap<string, KeyValue> {
  return new Map((found?.kvs ?? []).map((kv) => [kv.key.slice(prefix.length), kv]));
}

export function only(found: Found | undefined): KeyValue | undefined {
  return found?.kvs[0];
}

/** An ETag is the revision of the last write in quotes. Another text fits nothing. */
export function revisionOf(etag: ETag): string {
  return /^"([1-9]\d{0,17})"$/.exec(etag)?.[1] ?? '-1';
}

/** Every key of a row. */
export function removalOf(keys: RowKeys, job: JobName) {
  const { row, holder, terms, lock } = namesIn(keys, job);
  return [row, holder, terms, lock].map(remove);
}
