import { isoOf } from '../../core/iso';
import type { Cordon } from '../../core/fleet';
import type { Cordoned } from '../../manage/schema/deployments';
import { type Acting, operate } from '../audit';
import { cordonDeployment, uncordonDeployment } from './fleet';

/**
 * Cordons a deployment: see `cordonDeployment`.
 *
 * @param by default: the actor
 */
export function cordon(acting: Acting, deployment: string, by = acting.origin.actor): Promise<Cordoned> {
  return operate(acting, 'cordon', deployment, async () => {
    const { note = '' } = acting.origin;
    const made = shown(await cordonDeployment(acting.store, deployment, { by, note }, acting));
    return { answer: { deployment, cordon: made }, after: made };
  });
}

export function uncordon(acting: Acting, deployment: string): Promise<Cordoned> {
  return operate(acting, 'uncordon', deployment, async () => {
    const lifted = shown(await uncordonDeployment(acting.store, deployment, acting));
    return { answer: { deployment, cordon: lifted }, before: lifted, after: null };
  });
}

function shown({ by, note, since }: Cordon): Cordoned['cordon'] {
  return { by, note, since: isoOf(since) };
}
