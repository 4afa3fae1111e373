import { showSpan } from '../../core/show-time';
import * as operations from '../../operator/operations/cordon';
import { claimingDeployments } from '../../operator/operations/fleet';
import { UsageError } from '../cli-error';
import { OK, print, printJson, warn } from '../output';
import { openStore, type StorageOptions, withinSweep } from '../storage';
import { type TimeOptions, timesOf } from '../time';
import { afterwards } from './afterwards';
import { actingOn } from './person';

export interface UncordonOptions extends StorageOptions, TimeOptions {
  readonly note?: string | undefined;
  readonly json?: boolean | undefined;
}

export interface CordonOptions extends UncordonOptions {
  readonly note: string;
  readonly by?: string | undefined;
}

export async function cordon(deployment: string, options: CordonOptions): Promise<number> {
  const note = options.note.trim();
  if (note === '') throw new UsageError('--note is empty: give the reason of the cordon');
  const store = openStore(options);
  const acting = await actingOn(store, note);
  const { by, since } = (await operations.cordon(acting, deployment, options.by)).cordon;
  const others = await afterwards(() => claimingDeployments(store));
  if (others?.length === 0) {
    warn('no live deployment is left that may claim: nothing runs until one is uncordoned or started');
  }
  if (options.json) return printJson({ deployment, by, note, since });
  const left = others === undefined || others.length === 0 ? '' : ` Its jobs are left to ${others.join(', ')}.`;
  print(
    `Cordoned ${deployment} at ${timesOf(options)(Date.parse(since))}. It claims nothing new ${withinSweep(options)}; what it runs ` +
      `continues, retries included.${left}\nTo lift the cordon: cronlease uncordon ${deployment}`,
  );
  return OK;
}

export async function uncordon(deployment: string, options: UncordonOptions): Promise<number> {
  const store = openStore(options);
  const { by, note, since } = (await operations.uncordon(await actingOn(store, options.note), deployment)).cordon;
  if (options.json) return printJson({ deployment, by, note, since });
  const after = showSpan(Math.max(0, Date.now() - Date.parse(since)));
  print(`Lifted the cordon of ${deployment} after ${after}. It claims again ${withinSweep(options)}.`);
  return OK;
}
