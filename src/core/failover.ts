import type { EpochMs, Token } from './brand';
import type { Control, ManualRequest } from './control';
import { pauseAt, pendingRequests } from './control';
import type { Reason, RunFate, Stretch, UnrunFate } from './fate';
import type { JobSpec } from './job';
import { actualTime } from './job';
import type { PastAttempt, Row } from './row';
import { lostAttempt, PAST_ATTEMPTS } from './row';

/** The assumed `keep` of a job that is not in the jobs file. */
const KEEP_MS = 90 * 24 * 3_600_000;

/** A ledger record as a listing shows it. */
export interface RecordView {
  readonly key: string;
  readonly scheduledFor: EpochMs;
  /** The newest due time of a stretch; otherwise `scheduledFor`. */
  readonly through: EpochMs;
  /** A manual request's id; undefined: a due time, or a term of a leader job. */
  readonly request: string | undefined;
  readonly state: 'open' | 'final';
  readonly token: number | undefined;
}

/** Everything known of a job after its storage account has failed over. */
export interface Wreck {
  /** Undefined: the job is not in the file, so its due times are unknown. */
  readonly spec: JobSpec | undefined;
  readonly row: Row;
  readonly control: Control;
  /** At least those of due times after the row's cursor. */
  readonly records: readonly RecordView[];
  /** The state of the record of the row's run. */
  readonly runRecord: 'none' | 'open' | 'final';
  /** The ids of the waiting requests that have a record. */
  readonly recordedRequests: ReadonlySet<string>;
  /** The storage service's time. */
  readonly now: EpochMs;
}

export interface RecoverChoices {
  /** A due time up to here that has no record may or may not have run. */
  readonly until: EpochMs;
  readonly raiseBy: number;
  /** What to do with an interrupted run whose outcome is unknown. */
  readonly runs: 'goOn' | 'rerun' | 'fail';
}

/** What happens to the row's run. */
export type RunRecovery =
  /** Its final record exists. */
  | { readonly kind: 'settled' }
  /** The next tick claims the next attempt. */
  | { readonly kind: 'goesOn' }
  /** It waits as before. */
  | { readonly kind: 'waits' }
  | { readonly kind: 'ends'; readonly fate: RunFate; readonly reason: Reason };

export interface Recovery {
  /** The recovered row; `owed` is empty. */
  readonly row: Row;
  readonly run: RunRecovery | undefined;
  /** Due times and requests whose outcome is unknown, oldest first. */
  readonly stretches: readonly Stretch[];
  /** Keys of open records that no row continues. */
  readonly abandoned: readonly string[];
}

/**
 * Repairs a job after an asynchronous failover of its storage account. The row may be older than its ledger, its
 * control and the work that was done. Cursor and token never go back, and a recorded due time keeps its one fate.
 */
export function afterFailover(wreck: Wreck, choices: RecoverChoices): Recovery {
  const { spec, row, records } = wreck;
  const highest = records.reduce((most, record) => Math.max(most, record.token ?? 0), Number(row.token));
  const token = (highest + choices.raiseBy) as Token;
  if (row.forgotten !== undefined) return { row: { ...row, token }, run: undefined, stretches: [], abandoned: [] };
  const run = recoverRun(wreck, choices);
  const due = spec === undefined ? undecidable(wreck) : dueTimes(wreck, spec, choices.until);
  const requests = spec === undefined ? { taken: row.manualTaken, stretches: [] } : lostRequests(wreck, choices.until);
  return {
    row: {
      ...runAfter(row, run, choices),
      token,
      cursor: due.cursor,
      owed: [],
      execution: undefined,
      manualTaken: requests.taken,
    },
    run,
    stretches: [...requests.stretches, ...due.stretches],
    abandoned: records
      .filter((record) => record.state === 'open' && record.key !== row.run?.key)
      .map((record) => record.key),
  };
}

function recoverRun({ spec, row, records, runRecord, now }: Wreck, { runs }: RecoverChoices): RunRecovery | undefined {
  const { run } = row;
  if (run === undefined || row.phase === 'idle') return undefined;
  if (runRecord === 'final') return { kind: 'settled' };
  // The record existed once, and retention has deleted it.
  if (row.phase === 'running' && now - run.since > (spec?.keepMs ?? KEEP_MS)) return { kind: 'settled' };
  // Nobody claims before the last run is over. A later claim has a record, so this run was over and its record is lost.
  const wasOver = records.some((record) => record.key !== run.key && (record.token ?? 0) > row.token);
  if (wasOver || runs === 'fail') return { kind: 'ends', fate: 'failed', reason: 'failedOver' };
  if (runs === 'rerun') return { kind: 'goesOn' };
  if (row.phase === 'retrying') return { kind: 'waits' };
  const usedUp =
    row.phase === 'running' && spec !== undefined && row.attempt - row.uncountedAttempts >= spec.retry.attempts;
  return usedUp ? { kind: 'ends', fate: 'failed', reason: 'holderLost' } : { kind: 'goesOn' };
}

/** The row with its run recovered. A run that continues waits for any tick, so that the lease can be released. */
function runAfter(row: Row, run: RunRecovery | undefined, { runs }: RecoverChoices): Row {
  switch (run?.kind) {
    case undefined:
    case 'waits':
      return row;
    case 'settled':
      return { ...row, phase: 'running', notBefore: undefined };
    case 'ends':
      return { ...row, phase: 'running', notBefore: undefined, past: pastOf(row) };
    case 'goesOn':
      return {
        ...row,
        // Items are bound to the token of their plan. Finished ones stand; the rest are planned again.
        phase: 'retrying',
        notBefore: 0,
        past: pastOf(row),
        // An attempt that an operator repeats does not count.
        uncountedAttempts: row.uncountedAttempts + (runs === 'rerun' && row.phase === 'running' ? 1 : 0),
      };
  }
}

/** The attempts that are over, the interrupted one included. */
function pastOf(row: Row): readonly PastAttempt[] {
  return row.phase === 'running' ? [...row.past, lostAttempt(row)].slice(-PAST_ATTEMPTS) : row.past;
}

interface Decided {
  readonly cursor: EpochMs;
  readonly stretches: readonly Stretch[];
}

function undecidable({ row, records }: Wreck): Decided {
  return { cursor: Math.max(row.cursor, newestDecided(records)), stretches: [] };
}

function newestDecided(records: readonly RecordView[]): EpochMs {
  return records.reduce(
    (newest, { request, through }) => (request === undefined ? Math.max(newest, through) : newest),
    0,
  );
}

/** Gives each unrecorded due time since the cursor its fate. A stretch never spans a recorded one. */
function dueTimes(wreck: Wreck, spec: JobSpec, until: EpochMs): Decided {
  const { row, records } = wreck;
  const { timetable } = spec;
  const newest = spec.kind === 'timed' ? newestDecided(records) : 0;
  const limit = Math.max(newest, until - spec.offsetMs);
  const decided = records.filter((record) => record.request === undefined).sort((a, b) => a.through - b.through);
  const stretches: Stretch[] = [];
  let open: Stretch | undefined;
  let passed = 0;
  for (let at = timetable.next(row.cursor); at !== undefined && at <= limit; at = timetable.next(at)) {
    while ((decided[passed]?.through ?? Infinity) < at) passed += 1;
    if ((decided[passed]?.scheduledFor ?? Infinity) <= at) {
      open = undefined;
      continue;
    }
    const [fate, reason] = fateOf(wreck, spec, at);
    if (open?.reason === reason) {
      open = { ...open, through: at, count: open.count + 1 };
      stretches[stretches.length - 1] = open;
    } else {
      open = { fate, reason, from: at, through: at, count: 1 };
      stretches.push(open);
    }
  }
  return { cursor: Math.max(row.cursor, limit), stretches };
}

/** A disabled or paused due time cannot have run. Nothing is known of any other. */
function fateOf({ row, control }: Wreck, spec: JobSpec, at: EpochMs): readonly [UnrunFate, Reason] {
  if (!spec.enabled && spec.scheduleHash === row.scheduleHash) return ['disabled', 'disabled'];
  if (pauseAt(control, actualTime(spec, at)) !== undefined) return ['paused', 'paused'];
  return ['expired', 'failedOver'];
}

interface LostRequests {
  readonly taken: number;
  readonly stretches: readonly Stretch[];
}

/** A row that was lost may have taken a request that still waits. */
function lostRequests({ row, control, recordedRequests }: Wreck, until: EpochMs): LostRequests {
  const old = pendingRequests(control, row.manualTaken).filter(({ time }) => time <= until);
  const lost = old.filter(({ id }) => !recordedRequests.has(id));
  return {
    taken: Math.max(row.manualTaken, ...old.map(({ number }) => number)),
    stretches: lost.map(requestStretch),
  };
}

function requestStretch({ id, time }: ManualRequest): Stretch {
  return { fate: 'expired', reason: 'failedOver', from: time, through: time, count: 1, request: id };
}
