import { cordonOf, decodeFleet, type Fleet, NO_FLEET } from '../../core/fleet';
import { oneLine } from '../../core/text';
import { type Allowance, allowanceOf, decodeLayout } from '../../core/layout';
import { ForeignMetadataError } from '../../core/metadata';
import type { ListedControl, Listing } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';
import { troubled } from '../reachability';

const TROUBLE = 'layout';
const FOREIGN = 'foreign fleet';

/** Notes what may keep this deployment from claiming, which lies in the first part of a listing. */
export function heedBounds(coordinator: Coordinator, part: Listing, report: Report): void {
  heedCordon(coordinator, part, report);
  heedLayout(coordinator, part, report);
}

/**
 * Notes whether an operator has cordoned this deployment, and reports a change. A listing is at most a sweep interval
 * old, so a cordon takes effect within one.
 */
function heedCordon(coordinator: Coordinator, { fleet: listed }: Listing, report: Report): void {
  const { deployment, serviceTime } = coordinator;
  const fleet = readFleet(coordinator, listed, report);
  if (fleet === undefined) return;
  const before = coordinator.cordon;
  const cordon = cordonOf(fleet, deployment);
  coordinator.cordon = cordon;
  if ((before === undefined) === (cordon === undefined)) return;
  const reason =
    cordon === undefined
      ? 'the cordon of this deployment was lifted: it claims again'
      : `this deployment was cordoned by ${oneLine(cordon.by)} (${oneLine(cordon.note)}): it claims nothing new`;
  report.event({ event: 'warning', at: serviceTime.now(), reason });
}

/** Undefined if something other than cronlease wrote it: what was read before stands. */
function readFleet(coordinator: Coordinator, listed: ListedControl | undefined, report: Report): Fleet | undefined {
  try {
    const fleet = listed === undefined ? NO_FLEET : decodeFleet(listed.metadata);
    coordinator.health.over(FOREIGN);
    return fleet;
  } catch (error) {
    if (!(error instanceof ForeignMetadataError)) throw error;
    troubled(coordinator, FOREIGN, { reason: `the cordons of deployments cannot be read: ${error.message}` }, report);
    return undefined;
  }
}

/**
 * Notes what the layout of the account allows this deployment, and reports a change. A listing is at most a sweep
 * interval old, so a change takes effect within one.
 */
function heedLayout(coordinator: Coordinator, { layout }: Listing, report: Report): void {
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
