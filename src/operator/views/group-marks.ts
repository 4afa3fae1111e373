import type { JobSpec } from '../../core/job';
import type { JobStatus } from './job-status';

/**
 * Marks the running jobs of each group that has more runs in progress than places. The row of a run is the same while it
 * waits for its place and while its handler works, so the mark names the group and not those that wait.
 *
 * @param now the storage service's time, in ISO 8601
 */
export function withGroupMarks(
  statuses: readonly JobStatus[],
  specs: readonly JobSpec[],
  now: string,
): readonly JobStatus[] {
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
