import { parseRecordKey } from '../../src/core/key';
import type { Note } from './app/note';
import { heldBy } from './calls';
import { dueTimes, type Evidence, type Fault, outcomesOf } from './evidence';
import { TAKE_OVER_MS } from './scenario';

/** How soon everything went on. Milliseconds; undefined: there was nothing of the kind to measure. */
export interface Recovery {
  /** The longest time without a handler start beyond the job's period: of jobs that no victim held, and of others. */
  readonly gapOthersMs: number | undefined;
  readonly gapHeldMs: number | undefined;
  /** From a fault to the next handler start of a job that the victim held, elsewhere; Infinity: never. */
  readonly takeOverMs: number | undefined;
  /** From waking, or from losing the network, to the abort of the old leader's signal; Infinity: never. */
  readonly toldMs: number | undefined;
  /** From the end of an outage until every due time in it was started or given its outcome. */
  readonly caughtUpMs: number | undefined;
  /** How long before its due time a handler started at most: by the error of its instance's clock. */
  readonly earlyMs: number;
  /** Fenced writes of old leaders that were refused. */
  readonly refused: number;
}

/** What was on its way when a network healed still arrives. */
const LATE_MS = 1_000;

export function recoveryIn(evidence: Evidence): Recovery {
  const { faults, notes } = evidence;
  const held = new Map(faults.map((fault) => [fault, victimsJobs(evidence, fault)]));
  const gaps = gapsIn(evidence, held);
  const olderLeaders = new Set(
    faults.filter(({ kind }) => kind === 'stopped' || kind === 'cutOff').map(({ pid }) => pid),
  );
  return {
    gapOthersMs: longest(gaps.filter(({ isHeld }) => !isHeld).map(({ ms }) => ms)),
    gapHeldMs: longest(gaps.filter(({ isHeld }) => isHeld).map(({ ms }) => ms)),
    takeOverMs: longest(faults.flatMap((fault) => takeOvers(evidence, fault, held.get(fault) ?? new Set()))),
    toldMs: longest(faults.flatMap((fault) => told(notes, fault))),
    caughtUpMs: longest(faults.filter(({ kind }) => kind === 'outage').flatMap((fault) => caughtUp(evidence, fault))),
    earlyMs: Math.max(
      0,
      ...notes.filter(({ what }) => what === 'started').map(({ at, scheduledFor }) => scheduledFor - at),
    ),
    refused: notes.filter(({ what, pid }) => what === 'refused' && olderLeaders.has(pid)).length,
  };
}

function longest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.max(...values);
}

function victimsJobs({ traffic, jobs }: Evidence, fault: Fault): ReadonlySet<string> {
  if (fault.kind === 'outage') return new Set(jobs.map(({ name }) => name));
  const atOnce = fault.kind === 'killed' || fault.kind === 'drained';
  const until = atOnce ? fault.from : fault.until + LATE_MS;
  const held = heldBy(traffic, fault.deployment, { from: fault.from, until });
  return new Set([...held, ...(fault.works ?? [])]);
}

/** The times between handler starts of each job, beyond its period, and whether a victim held it then. */
function gapsIn(
  { jobs, notes, span }: Evidence,
  held: ReadonlyMap<Fault, ReadonlySet<string>>,
): { readonly ms: number; readonly isHeld: boolean }[] {
  return jobs.flatMap(({ name, timetable }) => {
    const first = timetable.next(span.from);
    const second = first === undefined ? undefined : timetable.next(first);
    if (first === undefined || second === undefined) return [];
    const period = second - first;
    const starts = notes
      .filter(({ what, job, scheduledFor }) => what === 'started' && job === name && scheduledFor > span.from)
      .map(({ at }) => at)
      .sort((a, b) => a - b);
    const instants = [first, ...starts.filter((at) => at <= span.until), Math.max(span.until, first)];
    return instants.slice(1).map((at, index) => {
      const before = instants[index] ?? at;
      const isHeld = [...held].some(
        ([fault, names]) => names.has(name) && fault.from < at && before < fault.until + TAKE_OVER_MS + period,
      );
      return { ms: Math.max(0, at - before - period), isHeld };
    });
  });
}

function takeOvers({ notes, traffic }: Evidence, fault: Fault, held: ReadonlySet<string>): number[] {
  if (fault.kind === 'slowed') return [];
  const started = notes.filter(({ what }) => what === 'started');
  if (fault.kind === 'outage') {
    return started
      .filter(({ trigger, at }) => trigger === 'takeOver' && at > fault.until)
      .map(({ at }) => at - fault.until);
  }
  const settledLater = new Set(
    traffic.flatMap(({ call, deployment, at, status }) =>
      call.kind === 'record' &&
      call.state === 'final' &&
      status === 201 &&
      deployment === fault.deployment &&
      at >= fault.from
        ? [call.job]
        : [],
    ),
  );
  return [...held]
    .filter((job) => fault.kind !== 'drained' || !settledLater.has(job))
    .map((job) => {
      // One that was stopped may win the job again once it is awake.
      const next = started.find(
        ({ job: of, at, pid }) => of === job && at > fault.from && (pid !== fault.pid || at > fault.until),
      );
      return next === undefined ? Infinity : next.at - fault.from;
    });
}

/** Of each handler that was running when its instance stopped, or lost the network. */
function told(notes: readonly Note[], fault: Fault): number[] {
  if (fault.kind !== 'stopped' && fault.kind !== 'cutOff') return [];
  const since = fault.kind === 'stopped' ? fault.until : fault.from;
  return notes
    .filter(({ what, pid, at }) => what === 'started' && pid === fault.pid && at < fault.from)
    .flatMap(({ job, token }) => {
      const later = (what: Note['what']): Note | undefined =>
        notes.find((note) => note.what === what && note.pid === fault.pid && note.job === job && note.token === token);
      const ended = later('ended');
      if (ended !== undefined && ended.at < since) return [];
      const aborted = later('aborted');
      return [aborted === undefined ? Infinity : aborted.at - since];
    });
}

/** What is due while the job's own run goes on waits for that run by its policy, and not for storage. */
function caughtUp({ jobs, notes, traffic, ledger }: Evidence, outage: Fault): number[] {
  return dueTimes(jobs, { from: outage.from, until: outage.until }).flatMap(({ job, due }) => {
    if (outcomesOf(ledger, job, due).some(({ outcome }) => outcome === 'overlapped')) return [];
    const start = notes.find((note) => note.what === 'started' && note.job === job && note.scheduledFor === due);
    const record = traffic.find(({ call, status }) => {
      if (call.kind !== 'record' || call.job !== job || call.state !== 'final' || status !== 201) return false;
      const scheduledFor = parseRecordKey(call.key)?.scheduledFor ?? Number.NaN;
      return scheduledFor <= due && due <= (call.through ?? scheduledFor);
    });
    const at = Math.min(start?.at ?? Infinity, record?.at ?? Infinity);
    return [Math.max(0, at - outage.until)];
  });
}
