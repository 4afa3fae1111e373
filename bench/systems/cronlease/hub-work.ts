import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { HubWork } from '../../../src/core/batch';

const NAME = 'hub-work-';

/** Where a worker writes what its task hub has done. */
export function hubWorkFile(records: string, pid: number): string {
  return path.join(path.dirname(records), NAME + String(pid));
}

/** What the task hubs of all workers have done so far. */
export function readHubWork(records: string): HubWork {
  const folder = path.dirname(records);
  const files = readdirSync(folder).filter((name) => name.startsWith(NAME) && !name.endsWith('.new'));
  const counts = files.map((name) => JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as HubWork);
  const sum = (of: keyof HubWork): number => counts.reduce((all, one) => all + one[of], 0);
  return { orchestrations: sum('orchestrations'), activities: sum('activities'), turns: sum('turns') };
}
