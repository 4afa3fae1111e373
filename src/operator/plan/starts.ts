import type { EpochMs } from '../../core/brand';
import { actualTime, type ExcludedBy, type JobSpec } from '../../core/job';
import { byText } from '../../core/text';

export interface Start {
  readonly spec: JobSpec;
  readonly scheduledFor: EpochMs;
  /** Later than `scheduledFor` by the job's offset. */
  readonly runsAt: EpochMs;
}

/** The due times after an instant, up to a number of them. */
export function dueTimesAfter({ timetable }: JobSpec, after: EpochMs, count: number): readonly EpochMs[] {
  const found: EpochMs[] = [];
  let due = timetable.next(after);
  while (due !== undefined && found.length < count) {
    found.push(due);
    due = timetable.next(due);
  }
  return found;
}

/**
 * The starts of all enabled jobs in [from, to), in their order, and for one instant by name. It keeps one start of each
 * job, however long the span is.
 */
export function* startsIn(specs: readonly JobSpec[], from: EpochMs, to: EpochMs): Generator<Start, void> {
  const heap: Start[] = [];
  for (const spec of specs) {
    if (!spec.enabled || spec.kind !== 'timed') continue;
    const due = spec.timetable.next(from - spec.offsetMs - 1);
    if (due === undefined || actualTime(spec, due) >= to) continue;
    heap.push({ spec, scheduledFor: due, runsAt: actualTime(spec, due) });
  }
  for (let at = (heap.length >> 1) - 1; at >= 0; at -= 1) siftDown(heap, at);
  for (let first = heap[0]; first !== undefined; first = heap[0]) {
    yield first;
    const { spec, scheduledFor } = first;
    const due = spec.timetable.next(scheduledFor);
    if (due !== undefined && actualTime(spec, due) < to) {
      heap[0] = { spec, scheduledFor: due, runsAt: actualTime(spec, due) };
    } else {
      const last = heap.pop();
      if (last !== undefined && last !== first) heap[0] = last;
    }
    siftDown(heap, 0);
  }
}

function siftDown(heap: Start[], from: number): void {
  for (let at = from; ;) {
    let least = at;
    for (const child of [2 * at + 1, 2 * at + 2]) if (isBefore(heap[child], heap[least])) least = child;
    if (least === at) return;
    const [upper, lower] = [heap[at], heap[least]];
    if (upper === undefined || lower === undefined) return;
    heap[at] = lower;
    heap[least] = upper;
    at = least;
  }
}

function isBefore(a: Start | undefined, b: Start | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.runsAt < b.runsAt || (a.runsAt === b.runsAt && byText(a.spec.name, b.spec.name) < 0);
}

/** A time of a schedule that is not due. */
interface ExcludedStart extends Start {
  readonly by: ExcludedBy;
}

/** The excluded times of enabled jobs in [from, to): the first ones, and how many there are, to a limit of work. */
export function excludedIn(
  specs: readonly JobSpec[],
  { from, to, limit, mostCounted = 1_000_000 }: PlanSpan,
): { readonly starts: readonly ExcludedStart[]; readonly counted: number; readonly countedTo: EpochMs } {
  const byName = new Map(specs.map((spec) => [spec.name, spec]));
  const scheduled = specs.flatMap((spec) =>
    spec.excluded === undefined ? [] : [{ ...spec, timetable: spec.excluded.scheduled }],
  );
  const starts: ExcludedStart[] = [];
  let [counted, seen] = [0, 0];
  for (const start of startsIn(scheduled, from, to)) {
    seen += 1;
    if (seen > mostCounted) return { starts, counted, countedTo: start.runsAt };
    const spec = byName.get(start.spec.name);
    const by = spec?.excluded?.by(start.scheduledFor);
    if (spec === undefined || by === undefined) continue;
    counted += 1;
    if (starts.length < limit) starts.push({ ...start, spec, by });
  }
  return { starts, counted, countedTo: to };
}

export interface PlanSpan {
  readonly from: EpochMs;
  readonly to: EpochMs;
  /** Starts, or excluded times, to list. */
  readonly limit: number;
  /** Times to look at, at most. */
  readonly mostCounted?: number;
}
