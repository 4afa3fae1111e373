import type { EpochMs, Millis } from '../brand';
import type { Stretch } from '../outcome';
import type { JobSpec } from '../job';
import { recordKey } from '../key';
import { withGaps, withRun } from '../recent';
import { settledRun } from '../recent-run';
import { OWED_STRETCHES, type Row, keptForMs } from '../row';
import { type Situation, earliest, seenBy } from './situation';

/** Keeps the records and notices that an expired row owes. Those of an available row are already written. */
export function carry(s: Situation): Row {
  const { row, job } = s;
  const sameHash = job.scheduleHash === row.scheduleHash;
  return {
    ...row,
    owed: owedBy(s),
    telling: s.lease === 'expired' ? row.telling : [],
    revision: sameHash ? Math.max(row.revision, s.revision) : row.revision,
  };
}

/** The records that the row still owes. */
export function owedBy({ lease, row }: Situation): Row['owed'] {
  return lease === 'expired' ? row.owed : [];
}

/** For how long the records of a job are kept. */
interface Kept {
  readonly job: Pick<JobSpec, 'keepMs'>;
}

/** A delivered notice stays for a day at least. */
const TOLD_FOR_MS: Millis = 43_200_000;

/**
 * When an available row must be written once more, so that it shows by itself that its run is settled and that nothing is
 * owed. The records and notices that prove it are deleted one day. An acquisition without a claim then leaves an expired
 * row whose run looks unfinished. At half of their time, an acquisition that fails does no harm. Decision 042.
 */
export function settlesAt({ lease, row, job }: Pick<Situation, 'lease' | 'row'> & Kept): EpochMs | undefined {
  if (lease !== 'available') return undefined;
  const recordedMs = keptForMs(row, job.keepMs) / 2;
  const isProven = row.run !== undefined && (row.phase === 'running' || row.phase === 'idle');
  return earliest(
    isProven ? row.run.since + recordedMs : undefined,
    ...row.owed.map(({ through }) => through + recordedMs),
    ...row.telling.map(({ at }) => at + TOLD_FOR_MS),
  );
}

/** The row that shows it. */
export function settled(s: Situation): Row {
  const row = carry(s);
  return row.run === undefined ? row : { ...row, phase: 'settled', recent: recentOf(s, []) };
}

/** Whether this deployment's file has a schedule that the row must adopt. */
export function adopts({ job, row, revision }: Situation): boolean {
  return job.scheduleHash !== row.scheduleHash && revision > row.revision;
}

/** Whether the schedule counts from now: it is another one than before, or no file had the job for a while. */
export function startsAnew(s: Situation): boolean {
  return adopts(s) || s.row.leftSince !== undefined;
}

/**
 * A higher revision's schedule counts from now, and so does that of a job that no file had. Of the old one the row has
 * only a hash, and the due times of a job without a file are not known. So those since the cursor are unknown: one
 * stretch without a count records that none of them ran. A row that owes one stretch more than others may is written as
 * it is, and adopts once its records exist: it has no room for another. Decision 003.
 */
export function adopt(s: Situation): Row {
  const base = carry(s);
  if (base.owed.length > OWED_STRETCHES) return base;
  const from = lastTime(base) + 1;
  const through = Math.max(base.cursor, seenBy(s), base.leftSince ?? 0);
  const reason = base.leftSince === undefined ? 'scheduleChanged' : 'notInFile';
  const change = { outcome: 'disabled', reason, from, through, count: 0 } as const;
  return {
    ...base,
    cursor: through,
    owed: from > through ? base.owed : [...base.owed, change],
    leftSince: undefined,
    ...(adopts(s) && { revision: s.revision, scheduleHash: s.job.scheduleHash, scheduleSince: through }),
  };
}

/** The newest instant that has its own record. The terms of a leader job have theirs after the cursor. */
function lastTime({ cursor, run }: Row): EpochMs {
  const isTerm = run !== undefined && run.scheduledFor > cursor && run.key === recordKey(run.scheduledFor);
  return isTerm ? run.scheduledFor : cursor;
}

export function freshRun(row: Row): Row {
  return {
    ...row,
    busyUntil: undefined,
    stood: [],
    phase: 'running',
    attempt: 1,
    uncountedAttempts: 0,
    past: [],
    notBefore: undefined,
    itemsLeftAt: undefined,
    failedBefore: undefined,
  };
}

/** The last outcomes of a settled row, with its run and with what is decided now. */
export function recentOf({ row, job, control }: Situation, stretches: readonly Stretch[]): Row['recent'] {
  return withGaps(withRun(row.recent, settledRun(job, row, control.cancel)), stretches);
}

/**
 * Whether an expired row owes records, or its holder died between the final record and the release. Once retention
 * deletes that record, nothing shows that the run is settled.
 */
export function isLeftBehind({ lease, row, record }: Situation): boolean {
  return (
    lease === 'expired' &&
    (row.owed.length > 0 || row.telling.length > 0 || (row.phase === 'running' && record === 'final'))
  );
}
