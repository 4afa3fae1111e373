import { type Fleet, NO_FLEET, cordonOf, decodeFleet, maintenanceAt } from '../../core/fleet';
import { isoOf, isoOrNull } from '../../core/iso';
import type { JobSpec } from '../../core/job';
import { ForeignMetadataError, orForeign } from '../../core/metadata';
import { isFailing, shownState } from '../../core/shown-state';
import type { JobRowStore, PresenceStore } from '../../lease/store';
import { type Deployment, deploymentsOf } from './deployments';
import { statusOf } from './job-status';
import { layoutTroubles, listJobs } from './list-jobs';
import type { JobStatus, Overview } from '../../manage/schema/jobs';
import type { DeploymentStatus } from '../../manage/schema/about';
import { byText } from '../../core/text';

/** One listing of jobs, and one of deployments. Jobs that are in no spec are shown without their schedule. */
export async function readOverview(store: JobRowStore & PresenceStore, specs: readonly JobSpec[]): Promise<Overview> {
  const [list, presences] = await Promise.all([listJobs(store, specs), store.listPresences()]);
  const { deployments, foreign } = deploymentsOf(presences);
  const { fleet: control } = list;
  const decoded = control && orForeign(() => decodeFleet(control.metadata));
  const fleet = decoded instanceof ForeignMetadataError ? NO_FLEET : (decoded ?? NO_FLEET);
  const statuses = list.jobs
    .filter(({ spec, isForgotten }) => spec !== undefined || !isForgotten)
    .map((entry) => statusOf(entry, list.now));
  return {
    now: isoOf(list.now),
    jobs: withGroupMarks(statuses, specs, isoOf(list.now)).toSorted(worstFirst),
    deployments: deployments
      .map((deployment) => deploymentStatus(deployment, fleet))
      .sort((a, b) => byText(a.name, b.name)),
    maintenance: maintenanceAt(fleet, list.now).map(({ since, until, ...rest }) => ({
      ...rest,
      since: isoOf(since),
      until: isoOrNull(until),
    })),
    problems: [
      ...(decoded instanceof ForeignMetadataError
        ? [`the cordons of deployments cannot be read: ${decoded.message}`]
        : []),
      ...layoutTroubles(store.location, list.layouts).map(({ reason }) => `${reason}: nothing is claimed there`),
      ...list.missing.map(({ reason }) => `${reason}: its jobs are shown without their state`),
      ...foreign.map(({ name, error }) => `the presence of deployment "${name}" cannot be read: ${error.message}`),
    ],
  };
}

function deploymentStatus(deployment: Deployment, fleet: Fleet): DeploymentStatus {
  const { name, state, tickedAt, version, revision, skewMs, hubProven, shortOf = null } = deployment;
  const cordon = cordonOf(fleet, name);
  return {
    name,
    state,
    tickedAt: isoOf(tickedAt),
    version,
    revision,
    skewMs,
    hubProven,
    shortOf,
    cordon: cordon === undefined ? null : { by: cordon.by, note: cordon.note, since: isoOf(cordon.since) },
  };
}

/** What needs a person most comes first; then what will happen next. */
export function worstFirst(a: JobStatus, b: JobStatus): number {
  return rankOf(a) - rankOf(b) || byText(nextOf(a), nextOf(b)) || byText(a.name, b.name);
}

/** As {@link worstFirst}, but a run that starts or ends moves no job: pages of a list stay the same while one reads. */
export function worstSteadily(a: JobStatus, b: JobStatus): number {
  return rankOf(a) - rankOf(b) || byText(a.name, b.name);
}

function rankOf(job: JobStatus): number {
  const { state } = job;
  // Among those that were stopped on purpose, one that failed before comes first.
  if (state === 'paused' || state === 'disabled') return isFailing(job) && state === 'paused' ? 7 : 8;
  switch (shownState(job)) {
    case 'unreadable':
      return 0;
    case 'overdue':
      return 1;
    case 'failing':
      return state === 'retrying' ? 2 : 3;
    case 'acknowledged':
      return 4;
    case 'retrying':
      return 5;
    default:
      return 6;
  }
}

/** Jobs without a next due time come last. */
function nextOf({ currentRun, nextDueAt }: JobStatus): string {
  return currentRun?.startedAt ?? nextDueAt ?? '~';
}

/**
 * Marks the running jobs of each group that has more runs in progress than places. The row of a run is the same while it
 * waits for its place and while its handler works, so the mark names the group and not those that wait.
 *
 * @param now the storage service's time, in ISO 8601
 */
function withGroupMarks(statuses: readonly JobStatus[], specs: readonly JobSpec[], now: string): readonly JobStatus[] {
  const groups = new Map(specs.map(({ name, group }): [string, JobSpec['group']] => [name, group]));
  const runs = new Map<string, number>();
  for (const { name, currentRun } of statuses) {
    const group = groups.get(name)?.name;
    const { startedAt = null } = currentRun ?? {};
    // One that is claimed ahead asks for no place yet, and one between two attempts has none.
    if (group !== undefined && startedAt !== null && startedAt <= now) runs.set(group, (runs.get(group) ?? 0) + 1);
  }
  return statuses.map((status) => {
    const group = groups.get(status.name);
    const count = runs.get(group?.name ?? '') ?? 0;
    if (group === undefined || status.state !== 'running' || count <= group.maxParallel) return status;
    const mark = `one of ${String(count)} runs of group "${group.name}", ${String(group.maxParallel)} at a time`;
    return { ...status, detail: status.detail === null ? mark : `${mark}; ${status.detail}` };
  });
}
