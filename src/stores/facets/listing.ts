import { given } from '../../core/given';
import type { EpochMs, JobName } from '../../core/brand';
import { FLEET } from '../../core/fleet';
import { LAYOUT } from '../../core/layout';
import type { ListedControl, ListedJob, ListedRow, Listing } from '../../lease/store';

/**
 * Rows and controls of one instant as a listing. That of one job has neither the fleet nor the layout.
 *
 * @param entries of the controls; the listing has nothing else of them than a control needs
 */
export function listingOf(
  date: EpochMs,
  rows: ReadonlyMap<string, ListedRow>,
  entries: ReadonlyMap<string, ListedControl>,
  only: JobName | undefined,
): Listing {
  const controls = new Map([...entries].map(([name, { etag, metadata }]) => [name, { etag, metadata }]));
  const jobs = new Map<JobName, ListedJob>();
  for (const name of new Set([...rows.keys(), ...controls.keys()] as JobName[])) {
    if (name === FLEET || name === LAYOUT) continue;
    jobs.set(name, { ...given({ row: rows.get(name), control: controls.get(name) }), date });
  }
  if (only !== undefined) return { date, jobs };
  return { date, jobs, ...given({ fleet: controls.get(FLEET), layout: controls.get(LAYOUT) }) };
}
