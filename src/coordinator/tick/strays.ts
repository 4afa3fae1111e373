import type { Listing } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';
import { troubled } from '../reachability';

const TROUBLE = 'strays';
const SLOW = 'listing';

/** Says that blobs lie beside the jobs' own with which programs that use the SDK cannot list; and when they are gone. */
export function tellStrays({ clock, health, serviceTime }: Coordinator, { strays }: Listing, report: Report): void {
  const at = serviceTime.now();
  const harmful = strays?.harmful ?? [];
  if (harmful.length === 0) {
    if (health.over(TROUBLE)) report.event({ event: 'healthy', at, reason: 'no blob under jobs/ hinders listings' });
    return;
  }
  const reason =
    `${harmful.join(', ')}: not written by cronlease, and left out. The metadata stops listings by older versions and ` +
    'other programs: delete the blob';
  if (health.trouble(TROUBLE, { reason }, clock.monotonic())) report.event({ event: 'unhealthy', at, reason });
}

/**
 * @param part of a listing that takes several; undefined: it came in one
 */
export function tellSlowListing(coordinator: Coordinator, part: Listing | undefined, report: Report): void {
  const { health, serviceTime } = coordinator;
  if (part !== undefined) {
    const some = part.strays?.names[0];
    const remedy = some === undefined ? '' : `: delete what is not cronlease's, such as ${some}`;
    troubled(coordinator, SLOW, { reason: `one listing of jobs/ takes longer than a tick allows${remedy}` }, report);
  } else if (health.over(SLOW)) {
    report.event({ event: 'healthy', at: serviceTime.now(), reason: 'jobs/ is listed in time again' });
  }
}
