import type { Listing } from '../lease/store';
import type { Coordinator, Report } from './coordinator';

const TROUBLE = 'strays';

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
