import { type Backfill, type BackfillProgress, type BackfillState, isActive, nextOf } from '../../core/backfill';
import type { EpochMs, JobName } from '../../core/brand';
import { currentPause } from '../../core/control';
import { isoOf, isoOrNull } from '../../core/iso';
import type { JobSpec } from '../../core/job';
import { parseRecordKey } from '../../core/key';
import { type Origin, boundedOrigin } from '../../core/origin';
import { isAtRest } from '../../core/row';
import type { LeaseStore } from '../../lease/store';
import { type Acting, type Recorded, operate } from '../audit';
import { type BackfillPlan, type WantedBackfill, planIn, spanOf } from './backfill-plan';
import { type ChangeOptions, changeControl } from '../change-control';
import { type JobState, asideRunId, currentRun, readState } from '../job-state';
import { OperatorError } from '../operator-error';
import type { Subject } from '../subject';
import { recordsBetween } from '../views/find-record';
import { shortId } from './once';

type Started = Omit<StartedBackfill, 'from' | 'through'> & { readonly from: string; readonly through: string };
type OfJob<Answer> = Recorded<Answer & { readonly job: JobName }>;

export function backfill(acting: Acting, spec: JobSpec, wanted: WantedBackfill): Promise<OfJob<Started>> {
  const { store, origin } = acting;
  return operate(acting, 'backfill', spec.name, async () => {
    const started = await startBackfill(store, spec, { ...wanted, id: shortId(), origin }, acting);
    const after = { ...started, from: isoOf(started.from), through: isoOf(started.through) };
    return { answer: { job: spec.name, ...after }, after };
  });
}

export function endBackfill(
  acting: Acting,
  { name, spec }: Subject,
): Promise<OfJob<{ readonly id: string; readonly stopped: string }>> {
  return operate(acting, 'backfill', name, async () => {
    const { id, stopped } = await stopBackfill(acting.store, { name, spec }, acting);
    const after = { id, stopped: isoOf(stopped) };
    return { answer: { job: name, ...after }, before: { id }, after };
  });
}

/** A back-fill's status in JSON. */
export function shownStatus({ from, through, at, stopped, runId, ...rest }: BackfillStatus) {
  const times = { from: isoOf(from), through: isoOf(through), at: isoOf(at), stopped: isoOrNull(stopped) };
  return { ...rest, ...times, runId: runId ?? null };
}

/** How far the last back-fill of a job is. */
export interface BackfillStatus extends Omit<Backfill, 'scheduleHash'> {
  /**
   * `active`: it runs, or waits for its turn. `paused`: its job is paused or disabled. `stopping`: it was stopped, and
   * its last run is not over. `scheduleChanged`: the job has another schedule now, so it has ended.
   */
  readonly state: BackfillState;
  /** How many due times it has. */
  readonly dueTimes: number;
  /** How many of them it has not come to. */
  readonly left: number;
  /** How many it skipped because they had succeeded. */
  readonly skipped: number;
  /** How many of its runs ended with each outcome. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** Its run in progress. */
  readonly runId: string | undefined;
}

export interface StartedBackfill
  extends Pick<BackfillPlan, 'running' | 'skipped'>, Pick<Backfill, 'id' | 'from' | 'through'> {
  /** The job is paused, and the back-fill waits. */
  readonly paused: boolean;
}

/**
 * Starts a back-fill. The plan is made again, and only its due times run.
 *
 * @param wanted.id lowercase letters and digits, unlike that of any other back-fill or manual run of the job
 * @throws OperatorError as `planBackfill`; `BackfillGoesOn`, `NothingToRun`
 */
export async function startBackfill(
  store: LeaseStore,
  spec: JobSpec,
  wanted: WantedBackfill & { readonly id: string; readonly origin: Origin },
  options?: ChangeOptions,
): Promise<StartedBackfill> {
  const { id, origin, order, includeSucceeded } = wanted;
  return changeControl(store, { name: spec.name, spec }, options, async (state) => {
    const { control, now } = state;
    const before = control.backfill;
    const started = (backfill: Backfill, { running, skipped }: BackfillPlan): StartedBackfill => ({
      id: backfill.id,
      from: backfill.from,
      through: backfill.through,
      running,
      skipped,
      paused: !spec.enabled || currentPause(control, now) !== undefined,
    });
    const plan = await planIn(store, spec, wanted, state);
    // An earlier call that reported a refusal has written it.
    if (before?.id === id) return { control: undefined, result: started(before, plan) };
    if (before !== undefined && !isOver(stateOf(spec, before, state))) {
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
export function stopBackfill(
  store: LeaseStore,
  subject: Subject,
  options?: ChangeOptions,
): Promise<{ readonly id: string; readonly stopped: EpochMs }> {
  return changeControl(store, subject, options, ({ control, row, now }) => {
    const { backfill } = control;
    const isLeft = subject.spec === undefined || progressLeft(subject.spec, backfill, row?.backfill);
    if (backfill === undefined || backfill.stopped !== undefined || !isLeft) {
      throw new OperatorError('NoBackfill', `job "${subject.name}" has no back-fill in progress`);
    }
    const stopped = now;
    return { control: { ...control, backfill: { ...backfill, stopped } }, result: { id: backfill.id, stopped } };
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
  const { id, from, through, order, includeSucceeded, origin, at, stopped } = backfill;
  return {
    id,
    state: stateOf(spec, backfill, state),
    from,
    through,
    order,
    includeSucceeded,
    origin,
    at,
    stopped,
    ...counted(spec, backfill, progress),
    outcomes,
    skipped: progress?.skipped ?? 0,
    runId: run !== undefined && isRunOf(backfill, state) ? run : progress && asideRunId(spec.name, state.row),
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

export function stateOf(spec: JobSpec, backfill: Backfill, state: JobState): BackfillStatus['state'] {
  const { row, control, now, lease } = state;
  const isRunning =
    row?.backfill?.aside !== undefined || (isRunOf(backfill, state) && !(row !== undefined && isAtRest(row, lease)));
  if (backfill.stopped !== undefined) return isRunning ? 'stopping' : 'stopped';
  if (!isActive(backfill, spec)) return 'scheduleChanged';
  if (!isRunning && !progressLeft(spec, backfill, row?.backfill)) return 'done';
  return !spec.enabled || currentPause(control, now) !== undefined ? 'paused' : 'active';
}

function isOver(state: BackfillStatus['state']): boolean {
  return state === 'stopped' || state === 'scheduleChanged' || state === 'done';
}
