import type { IssueReport } from './report';
import { isRecord } from './readers';
import { nearest } from './suggest';

/**
 * Checks the group of each job of the file, and that each group has a job.
 *
 * @param groups those of the file, whether or not their settings are right
 */
export function checkGroups(
  jobs: Readonly<Record<string, unknown>>,
  groups: readonly string[],
  report: IssueReport,
): void {
  const used = new Set<string>();
  for (const [name, job] of Object.entries(jobs)) {
    if (!isRecord(job) || typeof job['group'] !== 'string') continue;
    const { group, schedule } = job;
    const place = ['jobs', name, 'group'];
    used.add(group);
    if (!groups.includes(group)) report.error(place, 'is not a group of this file', remedyFor(group, groups));
    if (typeof schedule === 'string' && schedule.trim() === '@always') {
      report.error(
        place,
        'cannot be used: @always is a leader job, whose terms would keep a place of the group all the time',
        'leave it out',
      );
    }
  }
  for (const group of groups) {
    if (used.has(group)) continue;
    report.warning(['groups', group], 'is the group of no job', `set "group": "${group}" in a job, or remove it`);
  }
}

function remedyFor(group: string, names: readonly string[]): string {
  const meant = nearest(group, names);
  if (meant !== undefined) return `did you mean "${meant}"?`;
  if (names.length > 0) return `use one of ${names.slice(0, 10).join(', ')}`;
  return `declare it in "groups" of the file: {"${group}": {"maxParallel": 3}}`;
}
