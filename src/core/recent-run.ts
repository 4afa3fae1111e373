import type { EpochMs, Millis } from './brand';
import { RAN_OUTCOMES, type RanOutcome } from './outcome';
import { type JobSpec, actualTime } from './job';
import { parseRecordKey, runIdOf } from './key';
import { type RecentRun, runWith } from './recent';
import { type LedgerRecord, tookMs } from './record';
import type { Row } from './row';

/** The end of a row's run, if it is known. */
interface KnownEnd {
  readonly outcome: RanOutcome | undefined;
  readonly at?: EpochMs;
  /** The first call of its handler, which may have waited for the concurrency limit. */
  readonly startedAt?: EpochMs | undefined;
  /** How long it waited between its attempts. */
  readonly waitedMs?: Millis | undefined;
}

/** The entry for a row's run; undefined if the row has none, or a back-filled one: lists show what was due recently. */
export function runEntry(
  job: Pick<JobSpec, 'offsetMs'>,
  row: Row,
  { outcome, at, startedAt, waitedMs = 0 }: KnownEnd,
): RecentRun | undefined {
  const { run, past, started } = row;
  if (run === undefined || run.trigger === 'backfill') return undefined;
  const request = parseRecordKey(run.key)?.request;
  const due = request === undefined ? actualTime(job, run.scheduledFor) : run.scheduledFor;
  const from = past.find(({ end }) => end !== undefined)?.start ?? startedAt ?? started;
  return {
    kind: 'run',
    scheduledFor: run.scheduledFor,
    request,
    outcome,
    latenessMs: from === undefined ? undefined : Math.max(0, from - due),
    durationMs: from === undefined || at === undefined ? undefined : Math.max(0, at - from - waitedMs),
    waitedMs,
    attempts: Math.max(1, row.attempt - row.uncountedAttempts),
  };
}

/**
 * The entry for the last run of a settled row. A run that did not succeed writes its row when it ends, except for one
 * that an operator cancelled.
 *
 * @param cancel the id of the run that an operator wanted to cancel last
 */
export function settledRun(
  job: Pick<JobSpec, 'name' | 'offsetMs'>,
  row: Row,
  cancel: string | undefined,
): RecentRun | undefined {
  const { run, phase, lastFailedKey } = row;
  if (run === undefined) return undefined;
  const known = runWith(row.recent, run.key);
  if (known !== undefined) return known;
  // It was claimed, and its handler was not called.
  if (row.recent.some((entry) => entry.kind === 'gap' && entry.scheduledFor === run.scheduledFor)) return undefined;
  const outcome = (): RanOutcome | undefined => {
    if (phase === 'idle' || lastFailedKey === run.key) return 'failed';
    return cancel === runIdOf(job.name, run.key) ? undefined : 'succeeded';
  };
  return runEntry(job, row, { outcome: outcome() });
}

/** The entry of a run, from its final record; undefined where the record cannot be one of a run. */
export function recordedRun(entry: RecentRun, record: LedgerRecord): RecentRun | undefined {
  const { latenessMs, attempts, waitedMs = 0 } = record;
  const outcome = RAN_OUTCOMES.find((candidate) => candidate === record.outcome);
  if (outcome === undefined) return undefined;
  return {
    ...entry,
    outcome,
    latenessMs: latenessMs === null ? entry.latenessMs : Math.max(0, latenessMs),
    durationMs: tookMs(record),
    waitedMs,
    attempts: Math.max(1, attempts.length),
  };
}
