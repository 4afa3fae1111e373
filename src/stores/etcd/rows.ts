import type { ETag, JobName } from '../../core/brand';
import type { CallOptions, ListedRow, Metadata } from '../../lease/store';
import { listedLease } from '../lease-automaton';
import { type Rows, etagOf } from '../port';
import type { Ask } from './ask';
import type { RowKeys } from './keys';
import { all, type Found, get, hasRevision, hasValue, isAbsent, type KeyValue, put, remove } from './wire';

/** The keys of one row. */
function namesIn({ rows, holders, terms, locks }: RowKeys, job: JobName) {
  return { row: `${rows}${job}`, holder: `${holders}${job}`, terms: `${terms}${job}`, lock: `${locks}${job}` };
}

/** @param keys of rows with leases: those of jobs, or of elections */
export function rowsIn(ask: Ask, keys: RowKeys): Rows {
  return { ...readAndWrite(ask, keys), ...leases(ask, keys) };
}

function readAndWrite(ask: Ask, keys: RowKeys): Pick<Rows, 'create' | 'read' | 'write'> {
  return {
    async create({ job, ...question }, metadata) {
      const { row } = namesIn(keys, job);
      const transaction = { compare: [isAbsent(row)], success: [put(row, JSON.stringify(metadata))] };
      const { succeeded, revision } = await ask.transact(question, transaction);
      return succeeded ? etagOf(revision) : undefined;
    },
    async read({ job, ...question }) {
      const names = namesIn(keys, job);
      const success = [get(names.row), get(names.terms), get(names.lock)];
      const { found } = await ask.transact(question, { success }, (answer) => answer.found[0]?.kvs.length === 0);
      const [row, terms, lock] = found.map(only);
      return row && rowIn({ row, terms, lock });
    },
    /** The guard of a claim: this revision, under this lease, which has not ended. */
    async write({ job, ...question }, metadata, { leaseId, ifMatch }) {
      const { row, lock } = namesIn(keys, job);
      const { succeeded, revision, found, date } = await ask.transact(question, {
        compare: [hasRevision(row, revisionOf(ifMatch)), hasValue(lock, leaseId)],
        success: [put(row, JSON.stringify(metadata)), get(lock)],
      });
      if (!succeeded) return undefined;
      const leftMs = await leftOf(ask, `measure the lease of ${job}`, only(found[1])?.lease, question.options);
      return { etag: etagOf(revision), date, leftMs };
    },
  };
}

function leases(ask: Ask, keys: RowKeys): Pick<Rows, 'acquire' | 'renew' | 'release' | 'break'> {
  return {
    async acquire({ job, ...question }, { leaseId, leaseMs, ifMatch }) {
      const { row, holder, terms, lock } = namesIn(keys, job);
      const seconds = leaseMs / 1000;
      const { lease, date } = await ask.grant(question, seconds);
      const isSeen = hasRevision(row, revisionOf(ifMatch));
      const success = [put(holder, leaseId), put(terms, String(seconds)), put(lock, leaseId, lease)];
      const first = await ask.transact(question, {
        compare: [isSeen, isAbsent(lock)],
        success,
        failure: [get(terms), get(lock)],
      });
      if (first.succeeded) return date;
      const [held, locked] = first.found.map(only);
      // With the id that holds it, this is a renewal.
      if (locked?.value !== leaseId || held === undefined || isBroken(held)) return undefined;
      const compare = [isSeen, hasValue(lock, leaseId), hasRevision(terms, held.mod)];
      return (await ask.transact(question, { compare, success })).succeeded ? date : undefined;
    },
    /**
     * With a new lease of etcd, on which the cluster agrees. A renewal of the old one is answered by one member, and by
     * one that does not know yet that another leads.
     */
    async renew({ job, ...question }, leaseId) {
      const { holder, terms, lock } = namesIn(keys, job);
      const isOurs = hasValue(holder, leaseId);
      const seen = await ask.transact(question, { compare: [isOurs], success: [get(terms)] });
      const held = only(seen.found[0]);
      if (!seen.succeeded || held === undefined || isBroken(held)) return false;
      const { lease } = await ask.grant(question, Number(held.value));
      // Whoever acquires, releases or breaks it writes or removes the terms.
      const compare = [isOurs, hasRevision(terms, held.mod)];
      return (await ask.transact(question, { compare, success: [put(lock, leaseId, lease)] })).succeeded;
    },
    async release({ job, ...question }, leaseId, ifMatch) {
      const { row, holder, terms, lock } = namesIn(keys, job);
      const isSeen = ifMatch === undefined ? [] : [hasRevision(row, revisionOf(ifMatch))];
      const { succeeded } = await ask.transact(question, {
        compare: [hasValue(holder, leaseId), ...isSeen],
        success: [remove(holder), remove(terms), remove(lock)],
      });
      return succeeded;
    },
    /** The lock stays until its lease ends, and nothing renews it any more. */
    async break({ job, ...question }, ifMatch) {
      const { row, terms, lock } = namesIn(keys, job);
      const isSeen = hasRevision(row, revisionOf(ifMatch));
      const seen = await ask.transact(question, { compare: [isSeen], success: [get(terms)] });
      const held = only(seen.found[0]);
      if (!seen.succeeded || held === undefined) return undefined;
      const { succeeded, found } = await ask.transact(question, {
        compare: [isSeen, hasRevision(terms, held.mod)],
        success: [put(terms, `${held.value.replace(BROKEN, '')}${BROKEN}`), get(lock)],
      });
      return succeeded ? leftOf(ask, question.what, only(found[1])?.lease, question.options) : undefined;
    },
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
  readonly row: KeyValue;
  readonly terms: KeyValue | undefined;
  readonly lock: KeyValue | undefined;
}

export function rowIn({ row, terms, lock }: SeenRow): ListedRow {
  const isHeld = terms !== undefined;
  const lease = { holder: terms?.value, isBroken: isHeld && isBroken(terms), isOver: lock === undefined };
  return { etag: etagOf(row.mod), ...listedLease(lease), metadata: JSON.parse(row.value) as Metadata };
}

/** Of all rows with their leases. */
export function rangesOf({ rows, terms, locks }: RowKeys) {
  return [all(rows), all(terms), all(locks, { keysOnly: true })];
}

/** What {@link rangesOf} has found, in order of name. */
export function rowsAmong({ rows, terms, locks }: RowKeys, found: readonly Found[]): ReadonlyMap<JobName, ListedRow> {
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
