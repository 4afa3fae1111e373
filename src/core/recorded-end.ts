import type { EpochMs } from './brand';
import { type Told, beforeEnd, noticesOfEnd } from './notice';
import { type Outcome, type RanOutcome, hasRun } from './outcome';
import type { LedgerRecord } from './record';
import type { Row } from './row';
import { failuresAfter } from './run';

/** The end of a row's run, from its final record. */
export interface RecordedEnd {
  /** Undefined: it is not known. */
  readonly at: EpochMs | undefined;
  readonly outcome: Outcome | null;
}

export function recordedEnd({ endedAt, outcome }: LedgerRecord): RecordedEnd {
  return { at: endedAt === null ? undefined : Date.parse(endedAt), outcome };
}

/**
 * If a holder's last row write was refused, the row lacks the end of the run, and may count an end that an earlier
 * holder expected. The record has the true one.
 *
 * @param told the job's settings, for the notices that the true end calls for. Undefined: none is added
 */
export function withRecordedEnd(row: Row, { at, outcome }: RecordedEnd, told: Told | undefined): Row {
  const ended: Row = at === undefined ? row : { ...row, busyUntil: Math.max(row.busyUntil ?? 0, at) };
  if (!hasRun(outcome) || !countsOther(row, outcome)) return ended;
  const others = row.telling.filter(({ of }) => of !== row.run?.key);
  const own = told === undefined ? [] : noticesOfEnd(told, row, { outcome, at: at ?? row.run?.since ?? 0 });
  return { ...ended, ...failuresAfter(beforeEnd(row), outcome), telling: [...others, ...own] };
}

/** Whether the row counts another end of its run. One that counts none is left as it is. */
function countsOther(row: Row, outcome: RanOutcome): boolean {
  const hasFailed = outcome !== 'succeeded' && outcome !== 'cancelled';
  const countsFailure = row.run !== undefined && row.lastFailedKey === row.run.key;
  const countsSuccess = beforeEnd(row) !== row;
  return (countsFailure && !hasFailed) || (countsSuccess && outcome !== 'succeeded');
}
