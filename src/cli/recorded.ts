import type { Action } from '../core/audit';
import type { AuditStore } from '../lease/store';
import { type Changed, recorded } from '../operator/audit';
import { warn } from './output';
import { shellOrigin } from './person';

/** Makes a change and records it as one by the person who runs the command. */
export async function recordedChange<Result>(
  store: AuditStore,
  { action, target, note }: { readonly action: Action; readonly target: string; readonly note?: string | undefined },
  change: () => Promise<Changed<Result>>,
): Promise<Result> {
  const origin = await shellOrigin(note);
  const done = await recorded(store, { at: Date.now(), origin, action, target }, change);
  if (!done.recorded) {
    warn(`the ${action} of "${target}" took place, but its record in audit/ shows only that it was begun`);
  }
  return done.result;
}
