import type { EpochMs, Millis } from '../../core/brand';
import { formatDuration } from '../../core/duration';
import { actualTime, type JobSpec } from '../../core/job';
import { RAN_OUTCOMES } from '../../core/outcome';
import type { LedgerRecord } from '../../core/record';
import type { ClusterEvent } from '../../local/cluster/deployment';
import { ATTEMPT_ENDS } from '../dev/news';
import type { ShownRecord } from '../../operator/views/runs';

export type Records = readonly (Pick<
  LedgerRecord,
  'job' | 'scheduledFor' | 'through' | 'state' | 'outcome' | 'reason' | 'trigger' | 'token' | 'runId' | 'latenessMs'
> &
  Pick<ShownRecord, 'attempts'>)[];

export interface Span {
  readonly from: EpochMs;
  readonly until: EpochMs;
}

/** A step of the drill, with its time by this machine's clock, in ISO 8601. */
export interface Step {
  readonly at: string;
  readonly what: string;
}

export interface Drilled {
  readonly deployments: readonly string[];
  readonly steps: readonly Step[];
  readonly events: readonly ClusterEvent[];
  readonly stopped: { readonly deployment: string; readonly pid: number; readonly at: EpochMs };
  /** When every due time before the end of the interrupted runs had its outcome; undefined: never. */
  readonly caughtUpAt: EpochMs | undefined;
  /** When the killed deployment ticked again; undefined: it did not. */
  readonly backAt: EpochMs | undefined;
  readonly span: Span;
  readonly records: Records;
}

export type Verdict = ReturnType<typeof judge>;

/** The checks of a drill, with duplicates (runs that ran twice) and losses (due times without an outcome) in words. */
export function judge(drilled: Drilled, jobs: readonly JobSpec[], targetMs: Millis) {
  const { events, stopped, records, span, backAt, caughtUpAt } = drilled;
  const interrupted = goingOn(events, stopped.deployment, stopped.at)
    .filter((claim) => !settledItself(records, claim))
    .map((claim) => interruptedRun(drilled, claim));
  const due = jobs.map((spec) => ({ job: spec.name, dueTimes: dueTimesIn(spec, span, records) }));
  const duplicates = [...ranTwice(events), ...twoOutcomes(jobs, span, records)];
  const losses = undecided(jobs, span, records);
  const checks = [
    takeOver(interrupted, targetMs),
    {
      name: 'interrupted runs ended',
      target: 'every run',
      measured: `${interrupted.filter(({ outcome }) => outcome !== null).length} of ${interrupted.length}`,
      ok: interrupted.every(({ outcome }) => outcome !== null),
    },
    {
      name: 'catch-up',
      target: 'every due time',
      measured: caughtUpAt === undefined ? 'not all' : `${formatDuration(caughtUpAt - stopped.at)} after the kill`,
      ok: caughtUpAt !== undefined,
    },
    { name: 'duplicates', target: '0', measured: String(duplicates.length), ok: duplicates.length === 0 },
    { name: 'losses', target: '0', measured: String(losses.length), ok: losses.length === 0 },
    {
      name: 'the deployment came back',
      target: 'it ticks',
      measured: backAt === undefined ? 'it does not' : 'it ticks',
      ok: backAt !== undefined,
    },
  ];
  return { ok: checks.every(({ ok }) => ok), checks, interrupted, jobs: due, duplicates, losses };
}

function takeOver(interrupted: readonly ReturnType<typeof interruptedRun>[], targetMs: Millis) {
  const name = 'take-over';
  const target = `within ${formatDuration(targetMs)}`;
  if (interrupted.length === 0) return { name, target, measured: 'nothing was interrupted', ok: false };
  const times = interrupted.map(({ takeOverMs }) => takeOverMs ?? Infinity);
  const longest = Math.max(...times);
  const measured = longest === Infinity ? 'never' : formatDuration(longest);
  return { name, target, measured, ok: longest <= targetMs };
}

/** The claims of one deployment whose attempts had not ended, by its events until then. */
export function goingOn(events: readonly ClusterEvent[], deployment: string, until: EpochMs): readonly ClusterEvent[] {
  const mine = events.filter((event) => event.deployment === deployment && Date.parse(event.at) <= until);
  return mine
    .filter(({ event }) => event === 'claimed' || event === 'takenOver')
    .filter((claim) => !mine.some((other) => ATTEMPT_ENDS.includes(other.event) && isSameAttempt(other, claim)));
}

export function isSameAttempt(one: ClusterEvent, other: ClusterEvent): boolean {
  return one.runId === other.runId && one.token === other.token;
}

/** The next claim of a run that was interrupted. */
export function nextClaim(events: readonly ClusterEvent[], claim: ClusterEvent): ClusterEvent | undefined {
  return events.find(
    ({ event, runId, token = 0 }) =>
      (event === 'claimed' || event === 'takenOver') && runId === claim.runId && token > (claim.token ?? 0),
  );
}

/** The killed deployment had written the run's final record, though its last event was lost with it. */
function settledItself(records: Records, { runId, token }: ClusterEvent): boolean {
  return records.some((record) => record.runId === runId && record.state === 'final' && record.token === token);
}

/** A run that the deployment held when it was killed. */
function interruptedRun({ events, stopped, records }: Drilled, claim: ClusterEvent) {
  const { job = '', runId = '' } = claim;
  const next = nextClaim(events, claim);
  const resumed = events.find(
    ({ event, runId: run, token = 0 }) => event === 'started' && run === runId && token > (claim.token ?? 0),
  );
  const since = (event: ClusterEvent | undefined): Millis | null =>
    event === undefined ? null : Date.parse(event.at) - stopped.at;
  const record = records.find((one) => one.runId === runId && one.state === 'final');
  return {
    job,
    runId,
    takenOverBy: next?.deployment ?? null,
    /** From the kill to the next claim of the run. */
    takeOverMs: since(next),
    /** From the kill until its handler worked again. */
    gapMs: since(resumed),
    outcome: record?.outcome ?? null,
  };
}

function dueTimesIn(spec: JobSpec, span: Span, records: Records) {
  return dueIn(spec, span).map((due) => {
    const [record] = outcomesAt(records, spec, due);
    return {
      scheduledFor: new Date(due).toISOString(),
      outcome: record?.outcome ?? null,
      reason: record?.reason ?? null,
      latenessMs: record?.latenessMs ?? null,
      attempts: (record?.attempts ?? []).map(({ deployment, outcome, startedAt }) => ({
        deployment,
        outcome,
        startedAt,
      })),
    };
  });
}

/** The nominal due times whose actual due times lie in the span. */
function dueIn(spec: JobSpec, { from, until }: Span): readonly EpochMs[] {
  const found: EpochMs[] = [];
  if (!spec.enabled) return found;
  let due = spec.timetable.next(from - spec.offsetMs - 1);
  while (due !== undefined && actualTime(spec, due) <= until) {
    found.push(due);
    due = spec.timetable.next(due);
  }
  return found;
}

function outcomesAt(records: Records, { name }: JobSpec, due: EpochMs): Records {
  return records.filter(
    ({ job, state, trigger, scheduledFor, through }) =>
      job === name &&
      state === 'final' &&
      trigger !== 'manual' &&
      Date.parse(scheduledFor) <= due &&
      due <= Date.parse(through ?? scheduledFor),
  );
}

/** Due times without an outcome, in words. */
export function undecided(jobs: readonly JobSpec[], span: Span, records: Records): readonly string[] {
  return jobs.flatMap((spec) =>
    dueIn(spec, span)
      .filter((due) => outcomesAt(records, spec, due).length === 0)
      .map((due) => `${spec.name} at ${new Date(due).toISOString()} has no outcome`),
  );
}

function twoOutcomes(jobs: readonly JobSpec[], span: Span, records: Records): readonly string[] {
  return jobs.flatMap((spec) =>
    dueIn(spec, span).flatMap((due) => {
      const outcomes = outcomesAt(records, spec, due);
      if (outcomes.length < 2) return [];
      const names = outcomes.map(({ outcome }) => outcome ?? 'none').join(' and ');
      return [`${spec.name} at ${new Date(due).toISOString()} has two outcomes: ${names}`];
    }),
  );
}

/** Attempts that started twice, runs that ended twice, and handlers that were called after their run had ended. */
function ranTwice(events: readonly ClusterEvent[]): readonly string[] {
  const ends: readonly string[] = RAN_OUTCOMES;
  const started = new Set<string>();
  const ended = new Set<string>();
  const found: string[] = [];
  // The events of two processes may arrive out of order.
  const inOrder = events.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  for (const { event, runId, attempt = 0, deployment } of inOrder) {
    if (runId === undefined) continue;
    if (event === 'started') {
      const id = `${runId}, attempt ${attempt},`;
      if (started.has(id)) found.push(`${id} was started twice, last by ${deployment}`);
      if (ended.has(runId)) found.push(`${runId} was started by ${deployment} after it had ended`);
      started.add(id);
    } else if (ends.includes(event)) {
      if (ended.has(runId)) found.push(`${runId} ended twice, last on ${deployment}`);
      ended.add(runId);
    }
  }
  return found;
}
