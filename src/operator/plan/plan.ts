import type { EpochMs, JobName } from '../../core/brand';
import { type JobGroup, type JobSpec, actualTime, type ExcludedBy } from '../../core/job';
import { type ClockChange, clockChanges, clockNote } from '../../core/schedule/clock-changes';
import { waitsFor } from '../../core/requires';
import { byText } from '../../core/text';

const MINUTE_MS = 60_000;
/** Starts that are counted, at most: some seconds of work. */
const MOST_COUNTED = 1_000_000;
/** A minute with this many jobs is named at each of its starts. */
const MANY = 10;
const BUSIEST = 5;

export interface PlannedStart extends Start {
  readonly notes: readonly string[];
}

export interface PileUp {
  readonly minute: EpochMs;
  readonly jobs: number;
  /** The groups of which more jobs start than run at a time, by name. */
  readonly groups: readonly FullGroup[];
}

export interface FullGroup extends JobGroup {
  readonly jobs: number;
}

export interface TouchedJob {
  readonly spec: JobSpec;
  readonly change: ClockChange;
}

export interface Plan {
  readonly starts: readonly PlannedStart[];
  /** How many starts were counted, listed ones included. */
  readonly counted: number;
  /** Everything before this was counted. It is the end of the span, unless there is too much. */
  readonly countedTo: EpochMs;
  /** The minutes with the most jobs, among those counted: the fullest first. */
  readonly busiest: readonly PileUp[];
  /** Changes of clocks in the span that touch jobs, even if nothing is due. */
  readonly touched: readonly TouchedJob[];
}

/** What would start in a span. Its memory is bounded by the jobs and the limit, and its work by a number of starts. */
export function planOf(specs: readonly JobSpec[], span: PlanSpan): Plan {
  const { from, to, limit, mostCounted = MOST_COUNTED } = span;
  const touched = touchedIn(specs, from, to);
  const notes = notesOf(touched);
  const starts: PlannedStart[] = [];
  const busiest = busiestMinutes();
  let counted = 0;
  let countedTo = to;
  let minute = { at: -Infinity, first: 0, jobs: new Map<JobName, JobSpec>() };
  const endMinute = (): void => {
    const { at, first, jobs } = minute;
    const groups = fullGroups(jobs.values());
    busiest.add({ minute: at, jobs: jobs.size, groups });
    if (jobs.size < MANY && groups.length === 0) return;
    for (let index = first; index < starts.length; index += 1) {
      const start = starts[index];
      if (start === undefined) continue;
      const notesHere = pileUpNotes(start, jobs.size, groups);
      if (notesHere.length > 0) starts[index] = { ...start, notes: [...start.notes, ...notesHere] };
    }
  };
  for (const start of startsIn(specs, from, to)) {
    const at = Math.floor(start.runsAt / MINUTE_MS) * MINUTE_MS;
    if (at !== minute.at) {
      endMinute();
      minute = { at, first: starts.length, jobs: new Map() };
      if (counted >= mostCounted) {
        countedTo = at;
        break;
      }
    }
    counted += 1;
    minute.jobs.set(start.spec.name, start.spec);
    if (starts.length < limit) starts.push({ ...start, notes: notes(start) });
  }
  if (countedTo === to) endMinute();
  return { starts, counted, countedTo, busiest: busiest.found(), touched };
}

function fullGroups(jobs: Iterable<JobSpec>): readonly FullGroup[] {
  const groups = new Map<string, FullGroup>();
  for (const { group } of jobs) {
    if (group !== undefined) groups.set(group.name, { ...group, jobs: (groups.get(group.name)?.jobs ?? 0) + 1 });
  }
  return [...groups.values()]
    .filter(({ jobs: count, maxParallel }) => count > maxParallel)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function pileUpNotes({ spec }: Start, jobs: number, groups: readonly FullGroup[]): readonly string[] {
  const notes = jobs < MANY ? [] : [`${jobs} jobs start in this minute`];
  const group = groups.find(({ name }) => name === spec.group?.name);
  if (group === undefined) return notes;
  const { name, maxParallel } = group;
  return [...notes, `${group.jobs} jobs of group "${name}", which run ${maxParallel} at a time, start in this minute`];
}

function touchedIn(specs: readonly JobSpec[], from: EpochMs, to: EpochMs): readonly TouchedJob[] {
  return specs
    .filter(({ enabled }) => enabled)
    .flatMap((spec) => clockChanges(spec, from, to).map((change): TouchedJob => ({ spec, change })))
    .sort((a, b) => a.change.at - b.change.at);
}

function notesOf(touched: readonly TouchedJob[]): (start: Start) => readonly string[] {
  const notes = new Map<string, string>();
  for (const { spec, change } of touched) {
    for (const due of change.due) notes.set(`${spec.name} ${due}`, clockNote(change));
  }
  return ({ spec, scheduledFor }) =>
    [waitsFor(spec), notes.get(`${spec.name} ${scheduledFor}`)].filter((note) => note !== undefined);
}

/** Keeps the minutes with the most jobs, at least two; of equal ones the earliest. */
function busiestMinutes() {
  const kept: PileUp[] = [];
  return {
    add(pileUp: PileUp): void {
      if (pileUp.jobs < 2 || (kept.length === BUSIEST && pileUp.jobs <= (kept.at(-1)?.jobs ?? 0))) return;
      kept.push(pileUp);
      kept.sort((a, b) => b.jobs - a.jobs || a.minute - b.minute);
      if (kept.length > BUSIEST) kept.pop();
    },
    found: (): readonly PileUp[] => kept,
  };
}

export interface Start {
  readonly spec: JobSpec;
  readonly scheduledFor: EpochMs;
  /** Later than `scheduledFor` by the job's offset. */
  readonly runsAt: EpochMs;
}

export function dueTimesAfter({ timetable }: JobSpec, after: EpochMs, count: number): readonly EpochMs[] {
  const found: EpochMs[] = [];
  let due = timetable.next(after);
  while (due !== undefined && found.length < count) {
    found.push(due);
    due = timetable.next(due);
  }
  return found;
}

/** The starts of all enabled jobs in [from, to), by time and name. Keeps one of each job, however long the span is. */
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
