import type { EpochMs, Millis } from '../../core/brand';
import type { Pause } from '../../core/control';
import { type JobSpec, actualTime, nextDue } from '../../core/job';

/** The most due times that are counted. */
const COUNTED = 10_000;

/** The due times that a pause passes over. */
export interface PassedOver {
  /** The oldest of them, nominal. */
  readonly first: readonly EpochMs[];
  readonly count: number;
  /** There are more than were counted. */
  readonly isMore: boolean;
}

/**
 * The due times of a job in a pause: none of them runs. Those that the last run kept waiting are among them.
 *
 * @param atMost how many of them to list
 */
export function passedOver(
  spec: Pick<JobSpec, 'timetable' | 'offsetMs'>,
  { since, until }: Pick<Pause, 'since'> & { readonly until: EpochMs },
  atMost: number,
): PassedOver {
  const first: EpochMs[] = [];
  let count = 0;
  const before: Millis = since - spec.offsetMs - 1;
  let due = nextDue(spec, before, until);
  while (due !== undefined && actualTime(spec, due) < until && count < COUNTED) {
    count += 1;
    if (first.length < atMost) first.push(due);
    due = nextDue(spec, due, until);
  }
  return { first, count, isMore: due !== undefined && actualTime(spec, due) < until };
}
