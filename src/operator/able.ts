import type { CallOptions, LeaseStore } from '../lease/store';
import { deploymentsOf } from './deployments';
import { OperatorError } from './operator-error';

/**
 * Refuses what an older version would do otherwise.
 *
 * @param what for the message: `a back-fill`
 * @throws OperatorError `OlderVersion` if a live deployment lacks the ability
 */
export async function assertAble(
  store: LeaseStore,
  { ability, what }: { readonly ability: string; readonly what: string },
  options: CallOptions | undefined,
): Promise<void> {
  const { deployments } = deploymentsOf(await store.listPresences(options));
  const unable = deployments.filter(({ lately, abilities }) => lately && !abilities.includes(ability));
  if (unable.length === 0) return;
  const names = unable.map(({ name, version }) => `"${name}" (cronlease ${version})`).join(', ');
  throw new OperatorError('OlderVersion', `deployment ${names} is too old for ${what}: finish the rollout first`);
}
