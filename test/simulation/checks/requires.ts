import { recordKey } from '../../../src/core/key';
import type { JobSpec } from '../../../src/core/job';
import { type JobFacts, short } from '../world/facts';
import type { World } from '../world/world';

/** A waiting job is looked at this often, and its claim and its hand-over follow. */
const STARTS_WITHIN_MS = 7_000;
/** The resolution of the service's Date, and what clocks are off in calm. */
const SAME_SECOND_MS = 2_000;

/**
 * When the last of the required jobs had its first success that counts for a due time. Written apart from the product's
 * own rule: a success counts by the due time of its run, which must be later than the job's previous due time.
 */
export function metAt({ others }: JobFacts, { requires, timetable }: JobSpec, due: number): number {
  const since = timetable.previous(due) ?? -Infinity;
  let last = -Infinity;
  for (const name of requires) {
    let first = Infinity;
    for (const { record, writtenAt } of others.get(name)?.records.values() ?? []) {
      if (record.outcome !== 'succeeded' || writtenAt >= first) continue;
      if (Date.parse(record.rerunOf ?? record.scheduledFor) > since) first = writtenAt;
    }
    last = Math.max(last, first);
  }
  return last;
}

/** Without faults, a due time starts soon after the last job that it waits for has succeeded, and else expires. */
export function checkWaited(
  { observer }: World,
  facts: JobFacts,
  {
    spec,
    due,
    excused,
    end,
  }: {
    readonly spec: JobSpec;
    readonly due: number;
    readonly excused: (instant: number) => boolean;
    readonly end: number;
  },
): void {
  const { name, started, row } = facts;
  const free = Math.max(due + spec.offsetMs, metAt(facts, spec, due));
  const over = due + spec.offsetMs + spec.requireWithinMs;
  if (excused(Math.min(free, over)) || mayOverlap(facts, spec, due)) return;
  const cursor = row?.cursor ?? 0;
  if (
    Math.min(free, over) + STARTS_WITHIN_MS < end &&
    cursor < due &&
    ![...started.values()].some(({ at }) => at > free)
  ) {
    observer.report('notPunctual', name, `${short(due)} is undecided, and could run since ${short(free)}`);
  }
  const at = started.get(`${recordKey(due)} 1`)?.at;
  if (at === undefined || at - free <= STARTS_WITHIN_MS) return;
  // Older due times, and requests, went first.
  const isFirst = ![...started.values()].some((other) => other.at >= free && other.at < at);
  if (isFirst) {
    observer.report(
      'notPunctual',
      name,
      `${short(due)} started ${String(at - free)} ms after it could, without a fault`,
    );
  }
}

/**
 * Whether the due time may have passed during a run of the job. It is `overlapped` then, and recorded with the next
 * decision. A run's start and end are known to the second of the service's Date.
 */
function mayOverlap({ started, records }: JobFacts, { overlap, offsetMs }: JobSpec, due: number): boolean {
  const actual = due + offsetMs;
  return (
    overlap === 'skip' &&
    [...started].some(([attempt, { at }]) => {
      const [key = ''] = attempt.split(' ');
      return at < actual + SAME_SECOND_MS && (records.get(key)?.writtenAt ?? Infinity) > actual - SAME_SECOND_MS;
    })
  );
}
