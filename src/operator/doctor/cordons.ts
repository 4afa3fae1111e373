import { type Cordon, FLEET, type Fleet, NO_FLEET, cordonOf, decodeFleet } from '../../core/fleet';
import { ForeignMetadataError } from '../../core/metadata';
import type { ListedControl, Presences } from '../../lease/store';
import { type Deployment, deploymentsOf } from '../views/deployments';
import { type Finding, ok, problem, warning } from './finding';

/** Names the deployments that an operator keeps from claiming. */
export function checkCordons(listed: ListedControl | undefined, presences: Presences): readonly Finding[] {
  try {
    const fleet = listed === undefined ? NO_FLEET : decodeFleet(listed.metadata);
    return checkFleet(fleet, deploymentsOf(presences).deployments);
  } catch (error) {
    if (!(error instanceof ForeignMetadataError)) throw error;
    const remedy = 'delete it: every cordon is lifted by that, and "cronlease cordon" makes them again';
    return [problem('metadata', `jobs/${FLEET}/control`, error.message, remedy)];
  }
}

function checkFleet(fleet: Fleet, deployments: readonly Deployment[]): readonly Finding[] {
  if (fleet.cordons.length === 0) return [ok('cordons', 'no deployment is cordoned')];
  const live = deployments.filter(({ state }) => state !== 'silent');
  const isStill = live.length > 0 && live.every(({ name }) => cordonOf(fleet, name) !== undefined);
  const all = isStill
    ? [warning('cordons', null, 'every live deployment is cordoned: nothing runs', 'uncordon one, or start another')]
    : [];
  return [...all, ...fleet.cordons.map((cordon) => oneCordon(cordon, deployments))];
}

function oneCordon({ deployment, by, note, since }: Cordon, deployments: readonly Deployment[]): Finding {
  const about = `since ${new Date(since).toISOString()} by ${by}: ${note}`;
  const isKnown = deployments.some(({ name }) => name === deployment);
  return warning(
    'cordons',
    deployment,
    isKnown ? `claims nothing new, ${about}` : `is cordoned and has not ticked in the last week, ${about}`,
    `lift the cordon when it is no longer needed: cronlease uncordon ${deployment}`,
  );
}
