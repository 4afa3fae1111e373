import type { EpochMs, Millis } from '../core/brand';
import { type JobSpec, actualTime, nextDue } from '../core/job';
import type { RecentRun } from '../core/recent';
import type { Row } from '../core/row';
import type { Deployment } from '../operator/views/deployments';
import { outcomesOf, statusOf } from '../operator/views/job-status';
import type { JobState } from '../operator/job-state';
import { JOB_STATES } from '../core/shown-state';
import type { JobEntry, JobList } from '../operator/views/list-jobs';
import { type Attribute, type InstrumentName, INSTRUMENTS, type jobNames } from './instruments';

export interface Sample {
  readonly instrument: InstrumentName;
  readonly value: number;
  readonly attributes: Readonly<Partial<Record<Attribute, string>>>;
}

/** A job that is this far behind is in trouble whatever the number is. */
const COUNTED_AT_MOST = 1_000;

/** The gauges of jobs, from one listing. Whichever instance reads it, they are the same. */
export function rowSamples({ now, jobs }: JobList, nameOf: ReturnType<typeof jobNames>): readonly Sample[] {
  const states = new Map<string, number>(JOB_STATES.map((state) => [state, 0]));
  const values = new Map<InstrumentName, Map<string, number>>();
  for (const entry of jobs) {
    if (entry.spec === undefined && entry.isForgotten) continue;
    const status = statusOf(entry, now);
    states.set(status.state, (states.get(status.state) ?? 0) + 1);
    const name = nameOf(entry.name);
    for (const [instrument, value] of gaugesOf(entry, status, now)) {
      const known = values.get(instrument) ?? new Map<string, number>();
      values.set(instrument, known.set(name, together(instrument, known.get(name), value)));
    }
  }
  return [
    ...[...states].map(([state, value]): Sample => {
      return { instrument: 'jobs', value, attributes: { 'cronlease.state': state } };
    }),
    ...[...values].flatMap(([instrument, byJob]) =>
      [...byJob].map(([job, value]): Sample => ({ instrument, value, attributes: { 'cronlease.job': job } })),
    ),
  ];
}

type Gauge = readonly [instrument: InstrumentName, value: number];

function gaugesOf(entry: JobEntry, { overdueSince }: ReturnType<typeof statusOf>, now: EpochMs): readonly Gauge[] {
  const { spec, state } = entry;
  const row = state?.row;
  if (state === undefined || row === undefined || row.forgotten !== undefined) return [];
  const outcomes = outcomesOf(entry, row, state);
  const runs = outcomes.recent.filter((item) => item.kind === 'run');
  const last = runs.findLast(({ durationMs }) => durationMs !== undefined);
  const good = lastSuccess(spec, row, runs);
  return [
    ['jobFailures', row.failures],
    ...(spec === undefined ? [] : [['dueTimesOverdue', overdueDueTimes(spec, row, state)] as const]),
    ...(spec?.alertAfterMs === undefined ? [] : [['jobOverdue', overdueSince === null ? 0 : 1] as const]),
    ['lastSuccessAge', seconds(Math.max(0, now - good))],
    ...(last?.durationMs === undefined ? [] : [['lastRunDuration', seconds(last.durationMs)] as const]),
    ...(last?.latenessMs === undefined ? [] : [['lastRunLateness', seconds(last.latenessMs)] as const]),
  ];
}

/** Jobs that share a name: counts add up, and of ages and durations the worst one stands. */
function together(instrument: InstrumentName, one: number | undefined, other: number): number {
  if (one === undefined) return other;
  return INSTRUMENTS[instrument].unit === 's' ? Math.max(one, other) : one + other;
}

/** The end of the last success that the row has; if it has none, when the job was first seen or excused. */
function lastSuccess(spec: JobSpec | undefined, row: Row, runs: readonly RecentRun[]): EpochMs {
  const ends = runs
    .filter(({ outcome }) => outcome === 'succeeded')
    .map(({ scheduledFor, request, latenessMs = 0, durationMs = 0, waitedMs }) => {
      const due = spec === undefined || request !== undefined ? scheduledFor : actualTime(spec, scheduledFor);
      return due + latenessMs + durationMs + waitedMs;
    });
  return Math.max(row.lastGoodAt, ...ends);
}

/** Whether a run is in progress, and its holder or its next attempt is expected to end it. */
function isAtWork({ phase, notBefore = 0 }: Row, { lease, now }: JobState): boolean {
  if (phase === 'running') return lease === 'held';
  return (phase === 'retrying' || phase === 'fanning') && notBefore > now;
}

/**
 * The due times after the row's cursor that have come. Those of a paused or disabled job wait on purpose, and so do
 * those that wait for another job, or for the end of the run in progress, which decides them.
 */
function overdueDueTimes(spec: JobSpec, row: Row, state: JobState): number {
  const { control, now } = state;
  if (!spec.enabled || spec.scheduleHash !== row.scheduleHash || isAtWork(row, state)) return 0;
  if (control.pauses.some(({ since, until = Infinity }) => since <= now && now < until)) return 0;
  let count = 0;
  const by = now - spec.requireWithinMs;
  let due = nextDue(spec, row.cursor, by);
  while (due !== undefined && actualTime(spec, due) <= by && count < COUNTED_AT_MOST) {
    count += 1;
    due = spec.timetable.next(due);
  }
  return count;
}

export function deploymentSamples(deployments: readonly Deployment[], now: EpochMs): readonly Sample[] {
  return deployments.flatMap(({ name, skewMs, tickedAt }): Sample[] => {
    const attributes = { 'cronlease.deployment': name };
    return [
      { instrument: 'clockSkew', value: seconds(skewMs), attributes },
      { instrument: 'tickAge', value: seconds(Math.max(0, now - tickedAt)), attributes },
    ];
  });
}

export function seconds(ms: Millis): number {
  return ms / 1_000;
}
