import type { EpochMs, Millis, Token } from './brand';
import type { Control } from './control';
import { claimTime } from './decide/verdict';
import { longestWait } from './early-claim';
import { endedBackfill } from './failover';
import type { JobSpec } from './job';
import { parseRecordKey } from './key';
import { AHEAD_AT_MOST_MS, type Row } from './row';

/** A record of the ledger as a listing shows it. */
interface ListedRecord {
  readonly key: string;
  readonly summary: Readonly<Record<string, string>>;
}

/** A claim takes longer than this: four storage calls and a hand-over through the task hub. */
const CLAIM_AT_LEAST_MS: Millis = 10;
/** A record with a higher one was not written by cronlease, and would use up all numbers. */
const TOKEN_AT_MOST = 2 ** 52;
/** How far a record's start may lie after its claim: the look-ahead, and clocks that disagree. */
const BEFORE_START_MS: Millis = 60_000;
/** No deployment claims longer before a due time than this, and none longer ahead of its listing. */
const LOOK_AHEAD_MS: Millis = longestWait(60_000);
const CLOCK_MS: Millis = 1_000;

/** What is known of a job that has records and no row. */
export interface LostRow {
  readonly job: JobSpec;
  /** The row of a job that is seen for the first time. */
  readonly fresh: Row;
  /** The newest records, in the order of their keys, back to one with a token if there is one. */
  readonly records: readonly ListedRecord[];
  readonly control: Control;
  /** The service's time. No row has been there for a while, so nothing was claimed later. */
  readonly now: EpochMs;
}

/**
 * The row of a job whose row was deleted while its ledger remained. Nothing that may have run runs again: Decision 033.
 *
 * - The token is above every one that was ever given out. The newest records miss claims that were never recorded, and
 *   back-filled runs, whose keys are old and whose tokens may be the highest. Each of these was claimed after the
 * newest
 *   record's run, and a claim takes time, so the time since then bounds their number.
 * - The cursor is at the present or at the newest recorded due time, whichever is later, and beyond all that may have
 *   been claimed ahead.
 * - Manual runs that wait may have been taken, and it is not known what a back-fill has run: both are over.
 */
export function rowAfterLoss({ job, fresh, records, control, now }: LostRow): Row {
  let token = 0;
  let claimedAfter: EpochMs = 0;
  let newest: EpochMs = 0;
  for (const { key, summary } of records) {
    const parts = parseRecordKey(key);
    // A key of years ahead is not cronlease's, and would stop the job until then.
    if (parts === undefined || parts.scheduledFor > now + AHEAD_AT_MOST_MS) continue;
    const through = Date.parse(summary['through'] ?? '');
    const last = through <= now + AHEAD_AT_MOST_MS ? through : parts.scheduledFor;
    if (parts.request === undefined) newest = Math.max(newest, last);
    const own = Number(summary['token'] ?? 0);
    if (!Number.isSafeInteger(own) || own <= token || own > TOKEN_AT_MOST) continue;
    token = own;
    const started = Date.parse(summary['started'] ?? '');
    claimedAfter = (Number.isNaN(started) ? parts.scheduledFor : started) - BEFORE_START_MS;
  }
  const claims = Math.ceil(Math.max(0, now - claimedAfter) / CLAIM_AT_LEAST_MS);
  const cursor = claimedUpTo(job, Math.max(fresh.cursor, now, newest), now);
  return {
    ...fresh,
    token: (token + claims) as Token,
    cursor,
    scheduleSince: cursor,
    manualTaken: Math.max(0, ...control.manualRuns.map(({ number }) => number)),
    backfill: endedBackfill({ control }),
  };
}

/** The newest due time that may have been claimed by `now`, or `from` if there is none after it. */
function claimedUpTo(job: JobSpec, from: EpochMs, now: EpochMs): EpochMs {
  let cursor = from;
  for (;;) {
    const due = job.timetable.next(cursor);
    if (due === undefined || claimTime(job, due, LOOK_AHEAD_MS) > now + CLOCK_MS) return cursor;
    cursor = due;
  }
}
