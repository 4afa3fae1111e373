import { isoOf } from '../../core/iso';
import { BACKFILL_AT_MOST, type Backfill, type BackfillOrder, nextOf } from '../../core/backfill';
import type { EpochMs } from '../../core/brand';
import type { JobSpec } from '../../core/job';
import { parseRecordKey } from '../../core/key';
import type { Row } from '../../core/row';
import type { LeaseStore } from '../../lease/store';
import { recordOver, recordsBetween } from '../views/find-record';
import { type JobState, readState } from '../job-state';
import { OperatorError } from '../operator-error';

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
