import type { EpochMs, JobName } from '../../core/brand';
import type { JobGroup, JobSpec } from '../../core/job';
import { type ClockChange, clockChanges, clockNote } from '../../core/schedule/clock-changes';
import { waitsFor } from '../../core/requires';
import { type PlanSpan, type Start, startsIn } from './starts';

const MINUTE_MS = 60_000;
/** Starts that are counted, at most: some seconds of work. */
const MOST_COUNTED = 1_000_000;
/** A minute with this many jobs is named at each of its starts. */
const MANY = 10;
const BUSIEST = 5;

export interface PlannedStart extends Start {
  readonly notes: readonly string[];
}

/** A minute in which several jobs start. */
export interface PileUp {
  readonly minute: EpochMs;
  readonly jobs: number;
  /** The groups of which more jobs start than run at a time, by name. */
  readonly groups: readonly FullGroup[];
}

/** A group of which more jobs start in one minute than may run at a time. */
export interface FullGroup extends JobGroup {
  readonly jobs: number;
}

/** A change of clocks, and the job that it touches. */
export interface TouchedJob {
  readonly spec: JobSpec;
  readonly change: ClockChange;
}

export interface Plan {
  /** The first starts of the span. */
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

/** The notes of a start in a minute with many jobs, or with more of its group than run at a time. */
function pileUpNotes({ spec }: Start, jobs: number, groups: readonly FullGroup[]): readonly string[] {
  const group = groups.find(({ name }) => name === spec.group?.name);
  return [
    ...(jobs < MANY ? [] : [`${jobs} jobs start in this minute`]),
    ...(group === undefined
      ? []
      : [
          `${group.jobs} jobs of group "${group.name}", which run ${group.maxParallel} at a time, start in this minute`,
        ]),
  ];
}

/** The changes of clocks in a span that touch jobs, in their order. */
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
