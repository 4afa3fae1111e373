import type * as z from 'zod';
import type { EpochMs } from '../core/brand';
import type { Pause } from '../core/control';
import { openPause, pendingRequests } from '../core/control';
import type { JobSpec } from '../core/job';
import { actualTime, nextDue } from '../core/job';
import { parseRecordKey, recordKey, runIdOf } from '../core/key';
import type { Presences } from '../lease/store';
import { controlVersion } from '../operator/change-control';
import { deploymentsOf } from '../operator/doctor/deployments';
import type { JobState } from '../operator/job-state';
import type { JobEntry } from '../operator/list-jobs';
import type { Deployments, Job, OneJob } from './schema';

export function iso(instant: EpochMs): string {
  return new Date(instant).toISOString();
}

export function isoOrNull(instant: EpochMs | undefined): string | null {
  return instant === undefined ? null : iso(instant);
}

export function showPause({ by, note, since, until }: Pause): NonNullable<z.input<typeof Job>['pause']> {
  return { by, reason: note, since: iso(since), until: isoOrNull(until) };
}

export function showJob(entry: JobEntry, now: EpochMs): z.input<typeof Job> {
  const { name, spec, state, unreadable } = entry;
  const pause = state && openPause(state.control);
  return {
    name,
    description: spec?.description ?? null,
    schedule: spec?.schedule ?? null,
    timeZone: spec?.timeZone ?? null,
    tags: spec?.tags ?? [],
    enabled: spec?.enabled ?? null,
    state: stateOf(entry),
    pause: pause === undefined ? null : showPause(pause),
    current: state === undefined ? null : currentRun(entry, state),
    holder: state?.lease === 'held' ? (state.row?.incumbent ?? null) : null,
    lastRun: null,
    recent: [],
    nextDue: spec === undefined || !spec.enabled ? null : isoOrNull(nextStart(spec, now)),
    overdueSince: null,
    failures: state?.row?.failures ?? 0,
    requests: state === undefined ? 0 : pendingRequests(state.control, state.row?.manualTaken ?? 0).length,
    problems: unreadable.map(({ part, error }) => `${part}: ${error.message}`),
    controlVersion: controlVersion({ controlEtag: state?.controlEtag }),
  };
}

function stateOf({ spec, state }: JobEntry): z.input<typeof Job>['state'] {
  if (state === undefined) return 'quarantined';
  const { row, lease } = state;
  if (row?.run !== undefined && row.phase === 'running' && lease === 'held') return 'running';
  if (row?.phase === 'retrying') return 'retrying';
  if (row?.phase === 'fanning') return 'waiting';
  if (openPause(state.control) !== undefined) return 'paused';
  return spec?.enabled === false ? 'disabled' : 'idle';
}

function currentRun({ name }: JobEntry, { row, lease }: JobState): z.input<typeof Job>['current'] {
  if (row?.run === undefined) return null;
  const isRunning = row.phase === 'running' && lease === 'held';
  if (!isRunning && row.phase !== 'retrying' && row.phase !== 'fanning') return null;
  const { key, scheduledFor, trigger } = row.run;
  return {
    ...{ runId: runIdOf(name, key), scheduledFor: iso(scheduledFor), trigger, attempt: row.attempt },
    startedAt: isRunning ? isoOrNull(row.started) : null,
    notBefore: isRunning || row.notBefore === undefined ? null : iso(row.notBefore),
  };
}

function nextStart(spec: JobSpec, now: EpochMs): EpochMs | undefined {
  const due = nextDue(spec, now - spec.offsetMs, now);
  return due === undefined ? undefined : actualTime(spec, due);
}

export function showOneJob(entry: JobEntry, now: EpochMs): z.input<typeof OneJob> {
  const { name, spec, state } = entry;
  const waiting = state === undefined ? [] : pendingRequests(state.control, state.row?.manualTaken ?? 0);
  return {
    ...showJob(entry, now),
    now: iso(now),
    settings: spec === undefined ? null : settingsOf(spec),
    waiting: waiting.map(({ id, time }) => ({ runId: runIdOf(name, recordKey(time, id)), requestedAt: iso(time) })),
    pauses: state?.control.pauses.map(showPause) ?? [],
    cancelling: state?.control.cancel ?? null,
  };
}

function settingsOf(spec: JobSpec): NonNullable<z.input<typeof OneJob>['settings']> {
  const { kind, handler, catchUp, catchUpWindowMs, overlap, offsetMs, graceMs, leaseMs, keepMs, retry } = spec;
  return {
    ...{ kind, handler, catchUp, catchUpWindowMs, overlap, offsetMs, graceMs, leaseMs, keepMs, retry },
    timeoutMs: spec.timeoutMs ?? null,
    stallAfterMs: spec.stallAfterMs ?? null,
    alertAfterMs: spec.alertAfterMs ?? null,
    pauseAfterFailures: spec.pauseAfterFailures ?? null,
  };
}

export function showDeployments(presences: Presences): z.input<typeof Deployments>['deployments'] {
  return deploymentsOf(presences).deployments.map(({ name, tickedAt, live, version, revision, skewMs, hub }) => ({
    ...{ name, tickedAt: iso(tickedAt), live, version, revision, skewMs, hub: hub ?? null },
  }));
}

/** The parts of a run's id; undefined if it cannot be one. Times have no letters, so a job's name ends before them. */
export function parseRunId(id: string): { readonly job: string; readonly key: string } | undefined {
  const match = /^([a-z0-9-]{1,63})-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d(?:\.\d{3})?)Z(?:-m-([0-9a-z]{1,64}))?$/.exec(
    id,
  );
  if (match === null) return undefined;
  const [, job = '', year = '', month = '', day = '', hour = '', minute = '', second = '', request] = match;
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(at) || at < 0) return undefined;
  const key = recordKey(at, request);
  return parseRecordKey(key) === undefined ? undefined : { job, key };
}
