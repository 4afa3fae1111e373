import type { Listing } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';
import { troubled } from '../reachability';

const TROUBLE = 'strays';
const SLOW = 'listing';

/** Reports foreign blobs with which programs that use the SDK cannot list, and their removal. */
export function tellStrays({ clock, health, serviceTime }: Coordinator, { strays }: Listing, report: Report): void {
  const at = serviceTime.now();
  const harmful = strays?.harmful ?? [];
  if (harmful.length === 0) {
    if (health.over(TROUBLE))
      report.event({ event: 'healthy', at, reason: 'no blob under jobs/ breaks listings any longer' });
    return;
  }
  const reason =
    `${harmful.join(', ')}: not written by cronlease, and ignored. The metadata breaks listings by older versions and ` +
    'other programs: delete the blob';
  if (health.trouble(TROUBLE, { reason }, clock.monotonic())) report.event({ event: 'unhealthy', at, reason });
}

/** @param part a part of a listing that needs several; undefined if one was enough */
export function tellSlowListing(coordinator: Coordinator, part: Listing | undefined, report: Report): void {
  const { health, serviceTime } = coordinator;
  if (part !== undefined) {
    const some = part.strays?.names[0];
    const remedy = some === undefined ? '' : `: delete blobs that cronlease did not write, such as ${some}`;
    troubled(coordinator, SLOW, { reason: `one listing of jobs/ takes longer than a tick allows${remedy}` }, report);
  } else if (health.over(SLOW)) {
    report.event({ event: 'healthy', at: serviceTime.now(), reason: 'jobs/ is listed in time again' });
  }
}
