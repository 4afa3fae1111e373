import {
  type Backfill,
  type BackfillProgress,
  type BackfillState,
  isActive,
  nextOf,
  BACKFILL_AT_MOST,
  type BackfillOrder,
} from '../../core/backfill';
import type { EpochMs } from '../../core/brand';
import { currentPause } from '../../core/control';
import { isoOf, isoOrNull } from '../../core/iso';
import type { JobSpec } from '../../core/job';
import { parseRecordKey } from '../../core/key';
import { type Origin, boundedOrigin } from '../../core/origin';
import { isAtRest, type Row } from '../../core/row';
import type { LeaseStore } from '../../lease/store';
import { type Acting, operate } from '../audit';
import { changeControl, type Changing } from '../change-control';
import { type JobState, asideRunId, currentRun, readState } from '../job-state';
import { OperatorError } from '../operator-error';
import type { StartedBackfill, StoppedBackfill } from '../../manage/schema/actions';
import type { BackfillStatus } from '../../manage/schema/jobs';
import type { Subject } from '../subject';
import { recordsBetween, recordOver } from '../views/find-record';
import { shortId } from './once';

type OfChange = 'job' | 'recorded';

export function backfill(acting: Acting, spec: JobSpec, wanted: WantedBackfill): Promise<StartedBackfill> {
  const { origin } = acting;
  return operate(acting, 'backfill', spec.name, async () => {
    const after = await startBackfill(acting, spec, { ...wanted, id: shortId(), origin });
    return { answer: { job: spec.name, ...after }, after };
  });
}

export function endBackfill(acting: Acting, { name, spec }: Subject): Promise<StoppedBackfill> {
  return operate(acting, 'backfill', name, async () => {
    const after = await stopBackfill(acting, { name, spec });
    return { answer: { job: name, ...after }, before: { id: after.id }, after };
  });
}

/**
 * Starts a back-fill. The plan is made again, and only its due times run.
 *
 * @param wanted.id lowercase letters and digits, unlike that of any other back-fill or manual run of the job
 * @throws OperatorError as `planBackfill`; `BackfillGoesOn`, `NothingToRun`
 */
export async function startBackfill(
  changing: Changing,
  spec: JobSpec,
  wanted: WantedBackfill & { readonly id: string; readonly origin: Origin },
): Promise<Omit<StartedBackfill, OfChange>> {
  const { id, origin, order, includeSucceeded } = wanted;
  return changeControl(changing, { name: spec.name, spec }, async (state) => {
    const { control, now } = state;
    const before = control.backfill;
    const started = ({ from, through }: Backfill, { running, skipped }: BackfillPlan) => ({
      id,
      from: isoOf(from),
      through: isoOf(through),
      running,
      skipped,
      paused: !spec.enabled || currentPause(control, now) !== undefined,
    });
    const plan = await planIn(changing.store, spec, wanted, state);
    // An earlier call that reported a refusal has written it.
    if (before?.id === id) return { control: undefined, result: started(before, plan) };
    if (before !== undefined && !OVER.includes(stateOf(spec, before, state))) {
      const message = `back-fill ${before.id} of job "${spec.name}" is not over: wait until it is, or stop it`;
      throw new OperatorError('BackfillGoesOn', message);
    }
    if (plan.running === 0) {
      throw new OperatorError(
        'NothingToRun',
        `all ${String(plan.skipped)} due times of job "${spec.name}" in this span have succeeded: include them to run them again`,
      );
    }
    const runs = plan.dueTimes.filter(({ runs: will }) => will).map(({ scheduledFor }) => scheduledFor);
    const backfill: Backfill = {
      id,
      ...spanOf(runs),
      order,
      includeSucceeded,
      scheduleHash: spec.scheduleHash,
      origin: boundedOrigin(origin),
      at: now,
      stopped: undefined,
    };
    return { control: { ...control, backfill }, result: started(backfill, plan) };
  });
}

/** Stops the back-fill of a job. Its run in progress continues. Throws `OperatorError` `NoBackfill`. */
export function stopBackfill(changing: Changing, subject: Subject): Promise<Omit<StoppedBackfill, OfChange>> {
  return changeControl(changing, subject, ({ control, row, now }) => {
    const { backfill } = control;
    const isLeft = subject.spec === undefined || progressLeft(subject.spec, backfill, row?.backfill);
    if (backfill === undefined || backfill.stopped !== undefined || !isLeft) {
      throw new OperatorError('NoBackfill', `job "${subject.name}" has no back-fill in progress`);
    }
    const stopped = { ...backfill, stopped: now };
    return { control: { ...control, backfill: stopped }, result: { id: backfill.id, stopped: isoOf(now) } };
  });
}

function progressLeft(spec: JobSpec, backfill: Backfill | undefined, progress: BackfillProgress | undefined): boolean {
  if (backfill === undefined) return false;
  return nextOf(spec, backfill, progress?.id === backfill.id ? progress.at : undefined) !== undefined;
}

/** Reads how far the last back-fill of a job is; undefined: it has none. */
export async function readBackfillStatus(store: LeaseStore, spec: JobSpec): Promise<BackfillStatus | undefined> {
  const state = await readState(store, spec.name);
  const { backfill } = state.control;
  if (backfill === undefined) return undefined;
  const [records, run] = await Promise.all([
    recordsBetween(store, spec.name, backfill),
    currentRun(store, spec.name, state),
  ]);
  const outcomes: Record<string, number> = {};
  for (const { key, summary } of records) {
    if (parseRecordKey(key)?.request !== backfill.id || summary['state'] !== 'final') continue;
    const outcome = summary['outcome'] ?? 'failed';
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  const progress = progressOf(backfill, state);
  const { id, scheduleHash: _, from, through, at, stopped, ...asked } = backfill;
  return {
    id,
    state: stateOf(spec, backfill, state),
    ...asked,
    ...counted(spec, backfill, progress),
    outcomes,
    skipped: progress?.skipped ?? 0,
    from: isoOf(from),
    through: isoOf(through),
    at: isoOf(at),
    stopped: isoOrNull(stopped),
    runId: (run !== undefined && isRunOf(backfill, state) ? run : progress && asideRunId(spec.name, state.row)) ?? null,
  };
}

function counted(
  spec: JobSpec,
  backfill: Backfill,
  progress: BackfillProgress | undefined,
): Pick<BackfillStatus, 'dueTimes' | 'left'> {
  // The due times of another schedule are not known. It has ended with those that it had come to.
  if (backfill.scheduleHash !== spec.scheduleHash) {
    return { dueTimes: (progress?.ran ?? 0) + (progress?.skipped ?? 0), left: 0 };
  }
  const count = (after: EpochMs | undefined): number => {
    let due = nextOf(spec, backfill, after);
    let found = 0;
    for (; due !== undefined; due = nextOf(spec, backfill, due)) found += 1;
    return found;
  };
  return { dueTimes: count(undefined), left: count(progress?.at) };
}

function isRunOf({ id }: Backfill, { row }: JobState): boolean {
  return parseRecordKey(row?.run?.key ?? '')?.request === id;
}

/** How far the row says that a back-fill is; undefined: nothing of it has been claimed or skipped. */
export function progressOf({ id }: Backfill, { row }: JobState): BackfillProgress | undefined {
  return row?.backfill?.id === id ? row.backfill : undefined;
}

export function stateOf(spec: JobSpec, backfill: Backfill, state: JobState): BackfillState {
  const { row, control, now, lease } = state;
  const isRunning =
    row?.backfill?.aside !== undefined || (isRunOf(backfill, state) && !(row !== undefined && isAtRest(row, lease)));
  if (backfill.stopped !== undefined) return isRunning ? 'stopping' : 'stopped';
  if (!isActive(backfill, spec)) return 'scheduleChanged';
  if (!isRunning && !progressLeft(spec, backfill, row?.backfill)) return 'done';
  return !spec.enabled || currentPause(control, now) !== undefined ? 'paused' : 'active';
}

const OVER: readonly BackfillState[] = ['stopped', 'scheduleChanged', 'done'];

export interface WantedBackfill {
  /** Its oldest due time, or an instant before it. */
  readonly from: EpochMs;
  /** Its newest due time, or an instant after it. Undefined: the latest one that is decided. */
  readonly to: EpochMs | undefined;
  readonly order: BackfillOrder;
  /** How many due times run at most: the first ones in the order. */
  readonly limit: number | undefined;
  readonly includeSucceeded: boolean;
}

export interface PlannedDueTime {
  readonly scheduledFor: EpochMs;
  /** The outcome of its newest record; `running` if its run is not over; null: it has none. */
  readonly outcome: string | null;
  /** False: it has succeeded, so it is skipped. */
  readonly runs: boolean;
}

/** What a back-fill would do: a dry run. */
export interface BackfillPlan {
  readonly dueTimes: readonly PlannedDueTime[];
  readonly running: number;
  readonly skipped: number;
}

/** The due times of a back-fill in its order, with what the ledger has of them. Writes nothing. */
export async function planBackfill(store: LeaseStore, spec: JobSpec, wanted: WantedBackfill): Promise<BackfillPlan> {
  return planIn(store, spec, wanted, await readState(store, spec.name));
}

/**
 * As {@link planBackfill}, with a state that was read before. Throws `OperatorError` `NoDueTimes`, `Unseen`,
 * `OtherSchedule`, `FutureTime`, `EmptyRange`, `TooManyDueTimes`.
 */
export async function planIn(
  store: LeaseStore,
  spec: JobSpec,
  wanted: WantedBackfill,
  state: JobState,
): Promise<BackfillPlan> {
  const dueTimes = dueTimesOf(spec, wanted, state);
  const outcomes = await outcomesOf(store, spec, dueTimes);
  const planned: PlannedDueTime[] = [];
  let running = 0;
  for (const scheduledFor of dueTimes) {
    if (wanted.limit !== undefined && running >= wanted.limit) break;
    const outcome = outcomes.get(scheduledFor) ?? (isAtWork(state.row, scheduledFor) ? 'running' : null);
    const runs = wanted.includeSucceeded || outcome !== 'succeeded';
    if (runs) running += 1;
    planned.push({ scheduledFor, outcome, runs });
  }
  return { dueTimes: planned, running, skipped: planned.length - running };
}

/** Whether the run of the row is one of this due time, and not over: it may have no record yet. */
function isAtWork(row: Row | undefined, due: EpochMs): boolean {
  const { phase, run } = row ?? {};
  const isOver = phase === 'idle' || phase === 'settled';
  return run?.scheduledFor === due && run.trigger !== 'manual' && !isOver;
}

function dueTimesOf(spec: JobSpec, { from, to, order }: WantedBackfill, { row, now }: JobState): readonly EpochMs[] {
  const { name } = spec;
  const refuse = (code: OperatorError['code'], message: string): OperatorError => new OperatorError(code, message);
  if (spec.kind !== 'timed') {
    const kind = spec.kind === 'always' ? 'is a leader job (@always)' : 'runs on request only (@manual)';
    throw refuse('NoDueTimes', `job "${name}" ${kind}: it has no due times to back-fill`);
  }
  if (row === undefined) throw refuse('Unseen', `no deployment has seen job "${name}" yet: wait until one has`);
  if (row.scheduleHash !== spec.scheduleHash) {
    throw refuse(
      'OtherSchedule',
      `job "${name}" follows another schedule than the one in this file: wait until the file is deployed, or use the newer one`,
    );
  }
  if (from > now || (to ?? now) > now) {
    throw refuse('FutureTime', `a back-fill ends now at the latest (${isoOf(now)}): later due times run by themselves`);
  }
  // Due times after the cursor are undecided, and may still run by themselves.
  const through = Math.min(to ?? now, row.cursor);
  const found: EpochMs[] = [];
  for (;;) {
    const due = nextOf(spec, { from, through, order }, found.at(-1));
    if (due === undefined) break;
    found.push(due);
    if (found.length > BACKFILL_AT_MOST) {
      throw refuse(
        'TooManyDueTimes',
        `job "${name}" has more than ${String(BACKFILL_AT_MOST)} due times from ${isoOf(from)} to ${isoOf(through)}: choose a shorter span`,
      );
    }
  }
  if (found.length === 0) {
    throw refuse('EmptyRange', `job "${name}" has no due time from ${isoOf(from)} to ${isoOf(to ?? now)} that is over`);
  }
  return found;
}

/** The outcome of each due time that has a record; `succeeded` if any of its records has it. */
async function outcomesOf(
  store: LeaseStore,
  { name }: JobSpec,
  dueTimes: readonly EpochMs[],
): Promise<ReadonlyMap<EpochMs, string>> {
  const records = await recordsBetween(store, name, spanOf(dueTimes));
  const outcomes = new Map<EpochMs, string>();
  const stretches: { readonly from: EpochMs; readonly through: EpochMs; readonly outcome: string }[] = [];
  for (const { key, summary } of records) {
    const { scheduledFor, request } = parseRecordKey(key) ?? {};
    const outcome = summary['outcome'] ?? 'running';
    if (scheduledFor === undefined || (request !== undefined && summary['trigger'] !== 'backfill')) continue;
    const through = Date.parse(summary['through'] ?? '');
    if (through > scheduledFor) stretches.push({ from: scheduledFor, through, outcome });
    if (outcomes.get(scheduledFor) !== 'succeeded') outcomes.set(scheduledFor, outcome);
  }
  const over = (due: EpochMs) => stretches.find(({ from, through }) => from <= due && due <= through);
  // A stretch of due times with one outcome has one record, which may begin before the span. Some of its due times may
  // have been run since.
  const bare = dueTimes.filter((due) => !outcomes.has(due));
  const { from: oldest } = spanOf(bare);
  if (bare.length > 0 && over(oldest) === undefined) {
    const { found } = await recordOver(store, name, oldest);
    const { through, outcome } = found?.record ?? {};
    if (through !== undefined && outcome != null) {
      stretches.push({ from: oldest, through: Date.parse(through), outcome });
    }
  }
  for (const due of dueTimes) {
    const stretch = outcomes.has(due) ? undefined : over(due);
    if (stretch !== undefined) outcomes.set(due, stretch.outcome);
  }
  return outcomes;
}

/** The oldest and the newest due time. */
export function spanOf(dueTimes: readonly EpochMs[]): Pick<Backfill, 'from' | 'through'> {
  const ends = [dueTimes[0] ?? 0, dueTimes.at(-1) ?? 0];
  return { from: Math.min(...ends), through: Math.max(...ends) };
}
