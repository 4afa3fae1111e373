import { type Fleet, NO_FLEET, cordonOf, decodeFleet } from '../../core/fleet';
import { ForeignMetadataError } from '../../core/metadata';
import { oneLine } from '../../core/text';
import type { ListedControl, Listing } from '../../lease/store';
import type { Coordinator, Report } from '../coordinator';
import { troubled } from '../reachability';

const FOREIGN = 'foreign fleet';

/**
 * Notes whether an operator has cordoned this deployment, and reports a change. A listing is at most a sweep interval
 * old, so a cordon takes effect within one.
 */
export function heedCordon(coordinator: Coordinator, { fleet: listed }: Listing, report: Report): void {
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
