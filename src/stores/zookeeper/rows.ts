import type { EpochMs, JobName, Millis } from '../../core/brand';
import type { ListedRow, Metadata } from '../../lease/store';
import { type Change, DISTURBED, guardedRows, listedLease, type SeenLease } from '../lease-automaton';
import { STORE_LIMITS } from '../limits';
import { dateOf, type Rows } from '../port';
import { type Ask, type Calls, untilUndisturbed } from './ask';
import { etagAt } from './entries';
import { CODE, NoNodeError } from './errors';
import { escaped } from './paths';
import type { Node, Op } from './protocol';
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
export function rowsIn(ask: Ask, folder: string): Rows {
  return {
    create: ({ job, ...question }, metadata) =>
      ask(question, async (session) => {
        const { row, lease } = nodesOf(folder, job);
        const answer = await session.multi([
          { kind: 'create', path: row, data: dataOf(metadata) },
          { kind: 'create', path: lease, data: dataOf({}) },
        ]);
        if (answer.kind === 'done') return etagAt({ createdBy: answer.by, version: 0 });
        if (answer.code === CODE.nodeExists) return undefined;
        throw new NoNodeError();
      }),
    read: ({ job, ...question }) =>
      ask(question, async (session) => {
        const seen = await look(session, folder, job);
        return seen && listed(seen);
      }),
    /**
     * Looks at the row, decides, and writes if neither the row nor its lease was written in between; else looks again. A
     * lease that had ended has still ended then: only a write could have changed that.
     */
    ...guardedRows(({ job, ...question }, decide) =>
      ask(question, (session) =>
        untilUndisturbed(async () => {
          const seen = await look(session, folder, job);
          const change = seen && decide({ etag: etagAt(seen.row.stat), lease: leaseIn(seen) });
          if (seen === undefined || change === undefined) return undefined;
          const answer = await session.multi(operationsOf(nodesOf(folder, job), seen, change));
          const [stat] = answer.kind === 'done' ? answer.stats : [];
          if (stat === undefined) return DISTURBED;
          const left = { leftMs: Math.max(0, brokenEnd(seen) - seen.now) };
          return { etag: etagAt(stat), date: dateOf(stat.writtenMs), ...(change.kind === 'break' && left) };
        }),
      ),
    ),
  };
}

/** One of them sets a node. */
function operationsOf({ row, lease }: RowNodes, seen: SeenRow, change: Change): readonly Op[] {
  const { stat } = seen.row;
  if (change.kind === 'write') {
    return [
      { kind: 'check', path: lease, version: seen.version },
      { kind: 'set', path: row, data: dataOf(change.metadata), version: stat.version },
    ];
  }
  const check: Op = { kind: 'check', path: row, version: stat.version };
  const set: Op = { kind: 'set', path: lease, data: dataOf(leaseAfter(seen, change)), version: seen.version };
  return change.checksRow ? [check, set] : [set];
}

function leaseAfter(seen: SeenRow, change: Exclude<Change, { kind: 'write' }>): LeaseData {
  switch (change.kind) {
    case 'acquire':
      return { id: change.id, ms: change.leaseMs };
    case 'renew':
      return seen.lease;
    case 'release':
      return {};
    case 'break':
      return { ...seen.lease, brokenUntil: brokenEnd(seen) };
  }
}

function brokenEnd({ now, ends = now }: SeenRow): EpochMs {
  return Math.min(ends, now + STORE_LIMITS.leaseMs.most);
}

/** Undefined: there is no such row. */
function look(session: Calls, folder: string, job: JobName): Promise<SeenRow | undefined> {
  return untilUndisturbed(async () => {
    const [{ now, by }, seen] = await session.asOfNow(() => readPair(session, folder, job));
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
  const ends = id === undefined ? undefined : (brokenUntil ?? lease.stat.writtenMs + ms);
  return { now, row, version: lease.stat.version, lease: data, ends };
}

/** The rows of all names, or of one, each as of one instant after the listing's. */
export async function rowsAmong(
  session: Calls,
  folder: string,
  names: readonly string[],
): Promise<ReadonlyMap<JobName, ListedRow>> {
  const [{ now, by }, pairs] = await session.asOfNow(() =>
    Promise.all(names.map((name) => readPair(session, folder, name))),
  );
  const rows = new Map<JobName, ListedRow>();
  for (const [index, pair] of pairs.entries()) {
    const job = (names[index] ?? '') as JobName;
    const first = seenAt(pair, now, by);
    const seen = first === DISTURBED ? await look(session, folder, job) : first;
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

function dataOf(value: Metadata | LeaseData): Buffer {
  return Buffer.from(JSON.stringify(value));
}

interface RowNodes {
  readonly row: string;
  readonly lease: string;
}

/** The nodes of a row, the lease last: it lies below the row. */
export function nodesOf(folder: string, job: string): RowNodes {
  const row = `${folder}/${escaped(job)}`;
  return { row, lease: `${row}/lease` };
}
