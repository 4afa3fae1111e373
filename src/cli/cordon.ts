import type { Cordon } from '../core/fleet';
import { showSpan } from '../core/show-time';
import { claimingDeployments, cordonDeployment, uncordonDeployment } from '../operator/fleet';
import { UsageError } from './cli-error';
import { OK, print, printJson, warn } from './output';
import { userName } from './person';
import { recordedChange } from './recorded';
import { type StorageOptions, openStore, withinSweep } from './storage';
import { type TimeOptions, timesOf } from './time';

export interface UncordonOptions extends StorageOptions, TimeOptions {
  readonly note?: string | undefined;
  readonly json?: boolean | undefined;
}

export interface CordonOptions extends UncordonOptions {
  readonly note: string;
  readonly by?: string | undefined;
}

/** `cronlease cordon`: keeps a deployment from claiming anything new. */
export async function cordon(deployment: string, options: CordonOptions): Promise<number> {
  const note = options.note.trim();
  if (note === '') throw new UsageError('--note is empty: give the reason of the cordon');
  const store = openStore(options);
  const what = { action: 'cordon', target: deployment, note } as const;
  const { by, since } = await recordedChange(store, what, async () => {
    const result = await cordonDeployment(store, deployment, { by: options.by ?? userName(), note });
    return { result, after: shown(result) };
  });
  const others = await claimingDeployments(store);
  if (others.length === 0) {
    warn('no live deployment is left that may claim: nothing runs until one is uncordoned or started');
  }
  if (options.json) {
    printJson({ deployment, by, note, since: new Date(since).toISOString() });
    return OK;
  }
  const left = others.length === 0 ? '' : ` Its jobs are left to ${others.join(', ')}.`;
  print(
    `Cordoned ${deployment} since ${timesOf(options)(since)}. It claims nothing new ${withinSweep(options)}; what it runs ` +
      `continues, retries included.${left}\nTo lift the cordon: cronlease uncordon ${deployment}`,
  );
  return OK;
}

/** `cronlease uncordon`: lets a deployment claim again. */
export async function uncordon(deployment: string, options: UncordonOptions): Promise<number> {
  const store = openStore(options);
  const what = { action: 'uncordon', target: deployment, note: options.note } as const;
  const { by, note, since } = await recordedChange(store, what, async () => {
    const result = await uncordonDeployment(store, deployment);
    return { result, before: shown(result), after: null };
  });
  if (options.json) {
    printJson({ deployment, by, note, since: new Date(since).toISOString() });
    return OK;
  }
  const after = showSpan(Math.max(0, Date.now() - since));
  print(`Lifted the cordon of ${deployment} after ${after}. It claims again ${withinSweep(options)}.`);
  return OK;
}

/** A cordon as its record has it. */
function shown({ by, note, since }: Cordon): object {
  return { by, note, since: new Date(since).toISOString() };
}
