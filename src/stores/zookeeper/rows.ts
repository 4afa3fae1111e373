import type { EpochMs, JobName, Millis } from '../../core/brand';
import type { LeaseBreaking, ListedRow, Metadata, RowStore } from '../../lease/store';
import { listedLease, mayAcquire, mayRenew, mayWrite, type SeenLease } from '../lease-automaton';
import { checkMetadata, leaseSeconds, STORE_LIMITS } from '../limits';
import { dateOf, type RowCalls, type RowChange } from '../port';
import { type Ask, asOfNow, DISTURBED, untilUndisturbed } from './ask';
import { etagAt } from './entries';
import { CODE, NoContainerError } from './errors';
import { timeOf } from './now';
import { escaped, type Paths } from './paths';
import type { Node, Op, Stat } from './protocol';
import type { Session } from './session';

/**
 * A row's node has its metadata, and its version is the row's version. Its lease is a node below it, so that neither
 * a renewal nor an acquisition changes the row's version. A lease ends its length after its node was last written, by
 * the leader's time of that write.
 */
interface LeaseData {
  /** Left out if the lease is not held. */
  readonly id?: string;
  readonly ms?: Millis;
  /** When a broken lease ends. */
  readonly brokenUntil?: EpochMs;
}

/** A row with its lease as of one instant. */
interface SeenRow {
  readonly now: EpochMs;
  readonly row: Node;
  readonly version: number;
  readonly lease: LeaseData;
  /** When the lease ends, or has ended; undefined: it is not held. */
  readonly ends: EpochMs | undefined;
}

/** @param folder of the rows: those of jobs, or of elections */
export function rowCalls(ask: Ask, paths: Paths, folder: string): RowCalls {
  const place = { ask, paths, folder };
  return { ...readAndWrite(place), ...leases(place), ...breaking(place) };
}

interface RowFolder {
  readonly ask: Ask;
  readonly paths: Paths;
  readonly folder: string;
}

function readAndWrite({ ask, paths, folder }: RowFolder): Pick<RowStore, 'createRow' | 'readRow' | 'writeRow'> {
  return {
    async createRow(job, metadata, options) {
      checkMetadata(metadata);
      const what = `create the row of ${job}`;
      return ask({ what, kind: 'write', isNothing: (answer) => answer === 'exists', options }, async (session) => {
        const { row, lease } = nodesOf(folder, job);
        const answer = await session.multi([
          { kind: 'create', path: row, data: rowData(metadata) },
          { kind: 'create', path: lease, data: leaseData({}) },
        ]);
        if (answer.kind === 'done') return 'created';
        if (answer.code === CODE.nodeExists) return 'exists';
        throw new NoContainerError();
      });
    },
    async readRow(job, options) {
      const what = `read the row of ${job}`;
      return ask({ what, kind: 'read', isNothing: (row) => row === undefined, options }, async (session) => {
        const seen = await look(session, paths, folder, job);
        return seen && listed(seen);
      });
    },
    async writeRow(job, metadata, { leaseId, ifMatch }, options) {
      checkMetadata(metadata);
      const { row, lease } = nodesOf(folder, job);
      const what = `write the row of ${job}`;
      const answer = await change({ ask, paths, folder }, { what, kind: 'metadata', job, options }, (seen) => {
        if (!mayWrite(leaseIn(seen), leaseId) || etagAt(seen.row.stat) !== ifMatch) return undefined;
        return [
          { kind: 'check', path: lease, version: seen.version },
          { kind: 'set', path: row, data: rowData(metadata), version: seen.row.stat.version },
        ];
      });
      if (answer === undefined) return { kind: 'refused' };
      return { kind: 'written', etag: etagAt(answer.stat), date: dateOf(timeOf(answer.stat)) };
    },
  };
}

function leases(place: RowFolder): Pick<RowStore, 'acquire' | 'renew' | 'release'> {
  return {
    async acquire(job, { leaseId, leaseMs, ifMatch }, options) {
      const ms = leaseSeconds(leaseMs) * 1000;
      const what = `acquire the lease of ${job}`;
      const answer = await change(place, { what, kind: 'acquire', job, options }, (seen) => {
        if (!mayAcquire(leaseIn(seen), leaseId) || etagAt(seen.row.stat) !== ifMatch) return undefined;
        return setLease(place, job, seen, { id: leaseId, ms }, true);
      });
      return answer === undefined ? { kind: 'lost' } : { kind: 'acquired', date: dateOf(timeOf(answer.stat)) };
    },
    async renew(job, leaseId, options) {
      const what = `renew the lease of ${job}`;
      const answer = await change(place, { what, kind: 'renew', job, options }, (seen) => {
        if (!mayRenew(leaseIn(seen), leaseId)) return undefined;
        return setLease(place, job, seen, seen.lease, false);
      });
      return answer === undefined ? 'lost' : 'renewed';
    },
    async release(job, leaseId, options) {
      const ifMatch = options?.ifMatch;
      const what = `release the lease of ${job}`;
      const answer = await change(place, { what, kind: 'release', job, options }, (seen) => {
        if (seen.lease.id !== leaseId) return undefined;
        if (ifMatch !== undefined && etagAt(seen.row.stat) !== ifMatch) return undefined;
        return setLease(place, job, seen, {}, ifMatch !== undefined);
      });
      return answer === undefined ? 'lost' : 'released';
    },
  };
}

function breaking(place: RowFolder): Required<LeaseBreaking> {
  return {
    async breakLease(job, ifMatch, options) {
      const what = `break the lease of ${job}`;
      const answer = await change(place, { what, kind: 'break', job, options }, (seen) => {
        if (seen.ends === undefined || etagAt(seen.row.stat) !== ifMatch) return undefined;
        return setLease(place, job, seen, { ...seen.lease, brokenUntil: brokenEnd(seen.now, seen.ends) }, true);
      });
      if (answer === undefined) return { kind: 'lost' };
      const { now, ends = now } = answer.seen;
      return { kind: 'broken', leftMs: Math.round(Math.max(0, brokenEnd(now, ends) - now) / 1000) * 1000 };
    },
  };
}

function brokenEnd(now: EpochMs, ends: EpochMs): EpochMs {
  return Math.min(ends, now + STORE_LIMITS.leaseMs.most);
}

/** @param checksRow whether the row must be as it was seen */
function setLease(
  { folder }: RowFolder,
  job: JobName,
  seen: SeenRow,
  data: LeaseData,
  checksRow: boolean,
): readonly Op[] {
  const { row, lease } = nodesOf(folder, job);
  const check: Op = { kind: 'check', path: row, version: seen.row.stat.version };
  return [...(checksRow ? [check] : []), { kind: 'set', path: lease, data: leaseData(data), version: seen.version }];
}

/**
 * The guard of a row: looks at it, decides, and writes if neither the row nor its lease was written in between; else
 * looks again. A lease that had ended has still ended then: only a write could have changed that.
 *
 * @param decide the transaction, with one node that is set; undefined: none
 */
function change(
  { ask, paths, folder }: RowFolder,
  { job, ...question }: RowChange,
  decide: (seen: SeenRow) => readonly Op[] | undefined,
): Promise<{ readonly seen: SeenRow; readonly stat: Stat } | undefined> {
  return ask({ ...question, isNothing: (answer) => answer === undefined }, (session) =>
    untilUndisturbed(async () => {
      const seen = await look(session, paths, folder, job);
      const ops = seen === undefined ? undefined : decide(seen);
      if (seen === undefined || ops === undefined) return undefined;
      const answer = await session.multi(ops);
      const [stat] = answer.kind === 'done' ? answer.stats : [];
      return stat === undefined ? DISTURBED : { seen, stat };
    }),
  );
}

/** Undefined: there is no such row. */
function look(session: Session, paths: Paths, folder: string, job: JobName): Promise<SeenRow | undefined> {
  return untilUndisturbed(async () => {
    const [{ now, by }, seen] = await asOfNow(session, paths.now, () => readPair(session, folder, job));
    return seenAt(seen, now, by);
  });
}

type Pair = readonly [row: Node | undefined, lease: Node | undefined];

function readPair(session: Session, folder: string, job: string): Promise<Pair> {
  const { row, lease } = nodesOf(folder, job);
  return Promise.all([session.get(row), session.get(lease)]);
}

/** {@link DISTURBED}: one of the two was written after the instant, so that they may not fit together. */
function seenAt([row, lease]: Pair, now: EpochMs, by: bigint): SeenRow | undefined | typeof DISTURBED {
  if (row === undefined || lease === undefined) return undefined;
  if (row.stat.writtenBy > by || lease.stat.writtenBy > by) return DISTURBED;
  const data = JSON.parse(lease.data.toString()) as LeaseData;
  const { id, ms = 0, brokenUntil } = data;
  const ends = id === undefined ? undefined : (brokenUntil ?? timeOf(lease.stat) + ms);
  return { now, row, version: lease.stat.version, lease: data, ends };
}

/** The rows of all names, or of one, each as of one instant after the listing's. */
export async function rowsIn(
  session: Session,
  paths: Paths,
  folder: string,
  names: readonly string[],
): Promise<ReadonlyMap<JobName, ListedRow>> {
  const [{ now, by }, pairs] = await asOfNow(session, paths.now, () =>
    Promise.all(names.map((name) => readPair(session, folder, name))),
  );
  const rows = new Map<JobName, ListedRow>();
  for (const [index, pair] of pairs.entries()) {
    const job = (names[index] ?? '') as JobName;
    const first = seenAt(pair, now, by);
    const seen = first === DISTURBED ? await look(session, paths, folder, job) : first;
    if (seen !== undefined) rows.set(job, listed(seen));
  }
  return rows;
}

function listed(seen: SeenRow): ListedRow {
  const { row } = seen;
  return {
    etag: etagAt(row.stat),
    ...listedLease(leaseIn(seen)),
    metadata: JSON.parse(row.data.toString()) as Metadata,
  };
}

function leaseIn({ now, ends, lease }: SeenRow): SeenLease {
  return { holder: lease.id, isBroken: lease.brokenUntil !== undefined, isOver: ends === undefined || ends <= now };
}

function rowData(metadata: Metadata): Buffer {
  return Buffer.from(JSON.stringify(metadata));
}

function leaseData(data: LeaseData): Buffer {
  return Buffer.from(JSON.stringify(data));
}

/** The nodes of a row, the lease last: it lies below the row. */
export function nodesOf(folder: string, job: string): { readonly row: string; readonly lease: string } {
  const row = `${folder}/${escaped(job)}`;
  return { row, lease: `${row}/lease` };
}
