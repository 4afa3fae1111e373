import type { EpochMs } from '../../core/brand';
import { type Pause, pauseAt, pendingManualRuns } from '../../core/control';
import { type Acknowledgement, type Incident, type Outcomes, incidentOf, isInForce } from '../../core/incident';
import { type JobSpec, actualTime, nextDue } from '../../core/job';
import { isoOf, isoOrNull } from '../../core/iso';
import { runIdAt, runIdOf } from '../../core/key';
import type { JobStateName } from '../../core/shown-state';
import { type RecentRun, runWith, keyOf, withRun } from '../../core/recent';
import { type Row, isAtRest } from '../../core/row';
import type { JobState } from '../job-state';
import type { JobEntry } from './list-jobs';
import type { Acknowledgement as ListedAcknowledgement, JobStatus } from '../../manage/schema/jobs';
import { overdueBy } from '../../core/overdue';
import { settledRun } from '../../core/recent-run';
import type { Subject } from '../subject';

type Run = NonNullable<JobStatus['currentRun']>;
type ListedRun = NonNullable<JobStatus['lastRun']>;

const NOT_IN_FILE = 'not in this jobs file';

/** The status of a job, from one listing. Decision 101. */
export function statusOf(entry: JobEntry, now: EpochMs): JobStatus {
  const { name, spec, state, unreadable } = entry;
  const common = {
    name,
    description: spec?.description ?? null,
    tags: spec?.tags ?? [],
    schedule: spec?.schedule ?? null,
    timeZone: spec?.timeZone ?? null,
  };
  if (state === undefined) {
    const detail = unreadable.map(({ part, error }) => `its ${part} cannot be read: ${error.message}`).join('; ');
    return { ...common, ...UNKNOWN, state: 'unreadable', detail };
  }
  const { row, control } = state;
  const shown = row === undefined || row.forgotten !== undefined ? undefined : row;
  const outcomes = shown && outcomesOf(entry, shown, state);
  const recent = outcomes?.recent ?? [];
  const currentRun = shown === undefined ? null : currentRunOf(entry, shown, state);
  const pause = pauseAt(control, now);
  const stands = pause !== undefined || spec?.enabled === false;
  const manualRuns = pendingManualRuns(control, row?.manualTaken ?? 0).length;
  const dueSince = stands || spec === undefined || shown === undefined ? undefined : waitsSince(spec, shown, now);
  const overdueSince = spec && outcomes && overdueFrom(spec, shown, state, outcomes);
  const incident = outcomes && jobIncident(outcomes, state, overdueSince);
  const lastRun = recent.findLast((item) => item.kind === 'run') ?? null;
  return {
    ...common,
    ...nameState({ entry, state, currentRun, pause, manualRuns, dueSince, overdueSince }),
    lastRun: lastRun && listedRun(name, lastRun),
    recent: recent.map((item) =>
      item.kind === 'run' ? listedRun(name, item) : { ...item, scheduledFor: isoOf(item.scheduledFor) },
    ),
    failures: shown?.failures ?? 0,
    incident: incident === undefined ? null : listedIncident(name, incident),
    currentRun,
    nextDueAt: isoOrNull(spec && nextDueAt(spec, shown, pause, now)),
    dueSince: isoOrNull(dueSince),
    overdueSince: isoOrNull(overdueSince),
    pause: pause === undefined ? null : { ...pause, since: isoOf(pause.since), until: isoOrNull(pause.until) },
    manualRuns,
    lastHolder: shown?.incumbent ?? null,
  };
}

const UNKNOWN = {
  lastRun: null,
  recent: [],
  failures: 0,
  incident: null,
  currentRun: null,
  nextDueAt: null,
  dueSince: null,
  overdueSince: null,
  pause: null,
  manualRuns: 0,
  lastHolder: null,
} as const;

interface Facts {
  readonly entry: JobEntry;
  readonly state: JobState;
  readonly currentRun: Run | null;
  readonly pause: Pause | undefined;
  readonly manualRuns: number;
  readonly dueSince: EpochMs | undefined;
  readonly overdueSince: EpochMs | undefined;
}

function nameState(facts: Facts): Pick<JobStatus, 'state' | 'detail'> {
  const { entry, state, currentRun, pause, manualRuns, dueSince, overdueSince } = facts;
  const is = (name: JobStateName, detail: string | null = null): Pick<JobStatus, 'state' | 'detail'> => ({
    state: name,
    detail,
  });
  const isLeft = entry.spec === undefined;
  if (pause !== undefined) return is('paused', `by ${pause.by}: ${pause.note}`);
  if (entry.spec?.enabled === false) return is('disabled');
  if (overdueSince !== undefined) return is('overdue');
  if (currentRun !== null) {
    const { startedAt, retryAt } = currentRun;
    if (state.row?.phase === 'fanning') return is('running', 'its items run');
    if (isLeft && (retryAt !== null || startedAt === null)) return is('retrying', NOT_IN_FILE);
    if (retryAt !== null) return is('retrying');
    if (startedAt === null) return is('retrying', 'its holder is gone: the next tick takes the run over');
    return Date.parse(startedAt) > state.now ? is('waiting', 'claimed ahead of its due time') : is('running');
  }
  if (manualRuns > 0) {
    const what = manualRuns === 1 ? 'a manual run waits' : `${String(manualRuns)} manual runs wait`;
    return is('waiting', isLeft ? `${what}; ${NOT_IN_FILE}` : what);
  }
  if (dueSince !== undefined) return is('waiting', waitingDetail(entry));
  if (isLeft) return is('idle', NOT_IN_FILE);
  return state.row === undefined ? is('idle', 'no deployment has seen it yet') : is('idle');
}

/** A listing does not show whether a required job has succeeded; its ledger does, which `why` reads. */
function waitingDetail({ spec }: JobEntry): string {
  const { requires = [] } = spec ?? {};
  return requires.length === 0 ? 'due, and not claimed yet' : `due, and requires a success of ${requires.join(', ')}`;
}

function currentRunOf({ name }: JobEntry, row: Row, { lease, now }: JobState): Run | null {
  const { run, phase, recent } = row;
  if (run === undefined || isAtRest(row, lease)) return null;
  const common = {
    runId: runIdOf(name, run.key),
    scheduledFor: isoOf(run.scheduledFor),
    trigger: run.trigger,
    attempt: row.attempt,
  };
  const none = { startedAt: null, retryAt: null, holder: null } as const;
  const startedAt = isoOf(row.started ?? row.claimedAt ?? now);
  switch (phase) {
    case 'fanning':
      return { ...common, ...none, startedAt, holder: row.incumbent ?? null };
    case 'retrying':
      return { ...common, ...none, retryAt: isoOf(Math.max(now, row.notBefore ?? 0)) };
    case 'running':
      if (lease === 'expired') return { ...common, ...none };
      // The row notes the end of a run that did not succeed before its holder releases it.
      if (runWith(recent, run.key) !== undefined) return null;
      return { ...common, ...none, startedAt, holder: row.incumbent ?? null };
    case 'idle':
    case 'settled':
      return null;
  }
}

/** The oldest due time that has come and is not decided, if there is one. */
function waitsSince(spec: JobSpec, row: Row, now: EpochMs): EpochMs | undefined {
  if (spec.scheduleHash !== row.scheduleHash) return undefined;
  const due = nextDue(spec, row.cursor, now);
  return due !== undefined && actualTime(spec, due) <= now ? actualTime(spec, due) : undefined;
}

function nextDueAt(spec: JobSpec, row: Row | undefined, pause: Pause | undefined, now: EpochMs): EpochMs | undefined {
  if (!spec.enabled || (pause !== undefined && pause.until === undefined)) return undefined;
  const from = Math.max(now, (pause?.until ?? 0) - 1) - spec.offsetMs;
  const due = spec.timetable.next(row === undefined ? from : Math.max(from, row.cursor));
  return due === undefined ? undefined : actualTime(spec, due);
}

function listedIncident(name: JobEntry['name'], incident: JobIncident): JobStatus['incident'] {
  const { since, isWhole, failures, first, last, lastReason, acknowledgement } = incident;
  const runId = (key: string | undefined): string | null => (key === undefined ? null : runIdOf(name, key));
  return {
    since: isoOf(since),
    isWhole,
    failures,
    firstRunId: runId(first),
    lastRunId: runId(last),
    lastReason: lastReason ?? null,
    acknowledgement: acknowledgement === undefined ? null : listedAcknowledgement(acknowledgement),
  };
}

export function listedAcknowledgement({ by, note, at, until }: Acknowledgement): ListedAcknowledgement {
  return { by, note, at: isoOf(at), until: isoOrNull(until) };
}

function listedRun(name: JobEntry['name'], run: RecentRun): ListedRun {
  return {
    kind: 'run',
    runId: runIdAt(name, run),
    scheduledFor: isoOf(run.scheduledFor),
    outcome: run.outcome ?? null,
    latenessMs: run.latenessMs ?? null,
    durationMs: run.durationMs ?? null,
    waitedMs: run.waitedMs,
    attempts: run.attempts,
  };
}

/** The incident of a job, and its acknowledgement that is in force. */
export interface JobIncident extends Incident {
  readonly acknowledgement: Acknowledgement | undefined;
}

/** What a job's row shows of its last outcomes, with that of a run which has settled since. */
export function outcomesOf({ name, spec }: Subject, row: Row, { lease, control }: JobState): Outcomes {
  const settled = isAtRest(row, lease)
    ? settledRun({ name, offsetMs: spec?.offsetMs ?? 0 }, row, control.cancel)
    : undefined;
  const { failures, lastFailedKey, lastGoodAt } = row;
  return { failures, lastFailedKey, lastGoodAt, recent: withRun(row.recent, settled) };
}

/** The incident of a job; undefined if it neither fails nor is overdue. */
export function jobIncident(
  outcomes: Outcomes,
  { control, now }: JobState,
  overdueSince: EpochMs | undefined,
): JobIncident | undefined {
  const incident = incidentOf(outcomes, overdueSince);
  if (incident === undefined) return undefined;
  const { acknowledgement } = control;
  const isAcknowledged = acknowledgement !== undefined && isInForce(acknowledgement, outcomes, now);
  return { ...incident, acknowledgement: isAcknowledged ? acknowledgement : undefined };
}

/**
 * When the job became overdue. A success enters the row with the next claim, so the last run counts from its start: the
 * job may be well for a few minutes longer than this shows, and never shorter.
 */
export function overdueFrom(
  spec: JobSpec,
  row: Row,
  { control, lease, now }: JobState,
  { recent }: Outcomes,
): EpochMs | undefined {
  if (spec.alertAfterMs === undefined) return undefined;
  const last = recent.findLast((item) => item.kind === 'run');
  const isOver = row.run !== undefined && last !== undefined && keyOf(last) === row.run.key && lease === 'available';
  const succeeded =
    isOver && last.outcome === 'succeeded' ? (row.started ?? 0) + (last.durationMs ?? 0) + last.waitedMs : 0;
  const from = Math.max(row.lastGoodAt, succeeded);
  const age = overdueBy(spec, control, from, now);
  return age === undefined ? undefined : now - age + spec.alertAfterMs;
}
