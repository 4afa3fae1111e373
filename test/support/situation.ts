import { NO_CONTROL } from '../../src/core/control';
import type { Situation } from '../../src/core/decide/situation';
import type { JobSpec } from '../../src/core/job';
import { recordKey } from '../../src/core/key';
import { type Row, newRow } from '../../src/core/row';

/** When the jobs of these situations were first seen, and when {@link ranRow} was due: the start of simulations. */
export const T0 = Date.UTC(2026, 0, 1);

/** A tick's view of a job that was first seen at {@link T0}: a free row, and a clock that is right. */
export function situation(job: JobSpec, now: number, changes: Partial<Situation> = {}): Situation {
  return {
    ...{
      job,
      now,
      listedAt: now,
      firstSeenAt: now,
      revision: 0,
      row: newRow(T0, 0, job.scheduleHash),
      lease: 'available',
    },
    ...{
      control: NO_CONTROL,
      record: 'unread',
      lookAheadMs: 5_000,
      sweepIntervalMs: 60_000,
      itemsLimitMs: 0,
      attemptLimitMs: attemptLimit(job),
    },
    ...changes,
  };
}

/** The row in the first attempt at the run of {@link T0}, which was claimed ahead; on a free row it is settled. */
export function ranRow(job: JobSpec, changes: Partial<Row> = {}): Row {
  const run = { key: recordKey(T0), scheduledFor: T0, trigger: 'schedule', since: T0 - 5_000 } as const;
  return { ...newRow(T0, 0, job.scheduleHash), phase: 'running', attempt: 1, run, ...changes };
}

/** How long an attempt of the job may last, if it waits for no turn. */
export function attemptLimit({ timeoutMs = Infinity, graceMs }: JobSpec): number {
  return timeoutMs + graceMs;
}
