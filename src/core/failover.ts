import type { EpochMs, Token } from './brand';
import type { Control, ManualRequest } from './control';
import { pauseAt, pendingRequests } from './control';
import type { Reason, RunFate, Stretch, UnrunFate } from './fate';
import type { JobSpec } from './job';
import { actualTime } from './job';
import type { PastAttempt, Row } from './row';
import { lostAttempt, PAST_ATTEMPTS } from './row';

/** The records of a job whose file is not at hand are taken to be kept this long. */
const KEEP_MS = 90 * 24 * 3_600_000;

/** A ledger record as a listing shows it. */
export interface RecordView {
  readonly key: string;
  readonly scheduledFor: EpochMs;
  /** The newest due time of a stretch, else `scheduledFor`. */
  readonly through: EpochMs;
  /** A manual request's id; undefined: a due time, or a term of a leader job. */
  readonly request: string | undefined;
  readonly state: 'open' | 'final';
  readonly token: number | undefined;
}

/** What is known of a job after its storage account has failed over. */
export interface Wreck {
  /** Undefined: it is not in the file, and when it was due is not known. */
  readonly spec: JobSpec | undefined;
  readonly row: Row;
  readonly control: Control;
  /** Those of due times after the row's cursor, at least. */
  readonly records: readonly RecordView[];
  /** That of the row's run. */
  readonly runRecord: 'none' | 'open' | 'final';
  /** Of the waiting requests, the ids of those that have a record. */
  readonly recordedRequests: ReadonlySet<string>;
  /** The storage service's time. */
  readonly now: EpochMs;
}

export interface RecoverChoices {
  /** What was due by then and has no record may have run, or not. */
  readonly until: EpochMs;
  readonly raiseBy: number;
  /** What becomes of a run that was interrupted, if that is not known. */
  readonly runs: 'goOn' | 'rerun' | 'fail';
}

/** What becomes of the row's run. */
export type RunRecovery =
  /** Its final record is there. */
  | { readonly kind: 'settled' }
  /** The next attempt follows, by the next tick. */
  | { readonly kind: 'goesOn' }
  /** It waits as before. */
  | { readonly kind: 'waits' }
  | { readonly kind: 'ends'; readonly fate: RunFate; readonly reason: Reason };

export interface Recovery {
  /** The row as it is to be in the end; `owed` is empty. */
  readonly row: Row;
  readonly run: RunRecovery | undefined;
  /** Due times and requests of which nobody knows what became of them, oldest first. */
  readonly stretches: readonly Stretch[];
  /** Keys of open records that no row goes on with. */
  readonly abandoned: readonly string[];
}

/**
 * What puts a job right after an asynchronous failover of its storage account, when the row may be older than its
 * ledger, its control and the work that was done. Nothing goes back, and what the ledger has keeps its one fate.
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
  // Its record was there once, and was not kept for ever.
  if (row.phase === 'running' && now - run.since > (spec?.keepMs ?? KEEP_MS)) return { kind: 'settled' };
  // Nobody claims before the last run is over: it was, and its record is lost.
  const wasOver = records.some((record) => record.key !== run.key && (record.token ?? 0) > row.token);
  if (wasOver || runs === 'fail') return { kind: 'ends', fate: 'failed', reason: 'failedOver' };
  if (runs === 'rerun') return { kind: 'goesOn' };
  if (row.phase === 'retrying') return { kind: 'waits' };
  const usedUp =
    row.phase === 'running' && spec !== undefined && row.attempt - row.uncountedAttempts >= spec.retry.attempts;
  return usedUp ? { kind: 'ends', fate: 'failed', reason: 'holderLost' } : { kind: 'goesOn' };
}

/** The row's run as it is to stand. One that goes on waits for any tick, so that its lease can be let go. */
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
        // Items are bound to the token that they were planned with: what is done of them stands, the rest is planned anew.
        phase: 'retrying',
        notBefore: 0,
        past: pastOf(row),
        // An attempt that is run again by an operator's will does not count.
        uncountedAttempts: row.uncountedAttempts + (runs === 'rerun' && row.phase === 'running' ? 1 : 0),
      };
  }
}

/** The attempts that are over: the interrupted one is. */
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

/** Each due time since the cursor that has no record gets its fate; a stretch never goes over one that has. */
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

/** What nobody can have run is known; of the rest nothing is. */
function fateOf({ row, control }: Wreck, spec: JobSpec, at: EpochMs): readonly [UnrunFate, Reason] {
  if (!spec.enabled && spec.scheduleHash === row.scheduleHash) return ['disabled', 'disabled'];
  if (pauseAt(control, actualTime(spec, at)) !== undefined) return ['paused', 'paused'];
  return ['expired', 'failedOver'];
}

interface LostRequests {
  readonly taken: number;
  readonly stretches: readonly Stretch[];
}

/** A request that waits may have been taken by a row that is lost. */
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
