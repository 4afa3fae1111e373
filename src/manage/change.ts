import type { Action } from '../core/audit';
import type { Origin } from '../core/origin';
import { type Changed, type Recorded, recorded } from '../operator/audit';
import type { Subject } from '../operator/subject';
import { entriesOf, entryOf } from './jobs-routes';
import type { Office, RawCall } from './route';

/** The job of a change, by the shared sweep: the change itself reads its state anew. */
export async function subjectOf(office: Office, job: string): Promise<Subject> {
  const { entries } = await entriesOf(office);
  const { name, spec } = entryOf(entries, job);
  return { name, spec };
}

/** Who makes a change, and why. */
export function originOf({ caller }: Pick<RawCall, 'caller'>, note?: string): Origin {
  // Routes that anybody may call change nothing.
  if (caller === undefined) throw new Error('a change has no caller');
  const { actor, channel, identity } = caller;
  return {
    actor,
    channel,
    ...(identity === undefined ? {} : { identity }),
    ...(note === undefined ? {} : { note }),
  };
}

/** Makes a change and records it. The next reader sees it, whatever became of it. */
export async function change<Result>(
  { store, sweeps, clock }: Office,
  what: { readonly origin: Origin; readonly action: Action; readonly target: string; readonly signal: AbortSignal },
  make: () => Promise<Changed<Result>>,
): Promise<Recorded<Result>> {
  const { signal, ...intent } = what;
  try {
    return await recorded(store, { ...intent, at: clock.now() }, make, { signal });
  } finally {
    sweeps.drop();
  }
}
