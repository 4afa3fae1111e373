import { type Allowance, allowanceOf, decodeLayout } from '../../core/layout';
import { ForeignMetadataError } from '../../core/metadata';
import type { ListedControl, Listing } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';
import { troubled } from '../reachability';

const TROUBLE = 'layout';

/**
 * Notes what the layout of the account allows this deployment, and reports a change. A listing is at most a sweep
 * interval old, so a change takes effect within one.
 */
export function heedLayout(coordinator: Coordinator, { layout }: Listing, report: Report): void {
  const before = coordinator.allowance;
  const allowance = allowanceIn(coordinator, layout);
  coordinator.allowance = allowance;
  if (allowance.claims !== 'all') {
    const what = allowance.claims === 'begun' ? 'it begins no run' : 'it claims nothing';
    const reason = `${allowance.reason}: ${what}; "cronlease shards" shows the layouts`;
    troubled(coordinator, TROUBLE, { reason }, report);
    return;
  }
  coordinator.health.over(TROUBLE);
  if (before === undefined || before.claims === 'all') return;
  const reason = 'the layout of the accounts fits the list of this deployment: it claims again';
  report.event({ event: 'healthy', at: coordinator.serviceTime.now(), reason });
}

/** Where the jobs are distributed over several accounts, nothing is claimed before the layout has been read. */
export function claimsOf({ allowance, place }: Coordinator): Allowance['claims'] {
  return allowance?.claims ?? (place !== undefined && place.accounts.length > 1 ? 'none' : 'all');
}

function allowanceIn({ place, store }: Coordinator, listed: ListedControl | undefined): Allowance {
  try {
    const layout = listed === undefined ? undefined : decodeLayout(listed.metadata);
    return allowanceOf(place ?? { accounts: [store.location], index: 0 }, layout);
  } catch (error) {
    if (!(error instanceof ForeignMetadataError)) throw error;
    return { claims: 'none', reason: `the layout in ${store.location} cannot be read: ${error.message}` };
  }
}
