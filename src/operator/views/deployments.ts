import { ForeignMetadataError, orForeign } from '../../core/metadata';
import { decodePresence, type Presence } from '../../core/presence';
import { type PresenceState, presenceState } from '../../core/presence-state';
import type { Presences } from '../../lease/store';

/** A deployment that ticked within this time may be back at any moment, with the version that it had. */
const LATELY_MS = 11 * 60_000;
/** A deployment that has not ticked for this long is gone, and is ignored. */
const GONE_MS = 7 * 24 * 3_600_000;

export interface Deployment extends Presence {
  readonly name: string;
  readonly state: PresenceState;
  /** Whether it may be back at any moment: what it cannot do must not be asked of all. */
  readonly lately: boolean;
}

/** The deployments that have ticked in the last week, by name. `foreign` has the unreadable ones. */
export function deploymentsOf({ date, presences }: Presences): {
  readonly deployments: readonly Deployment[];
  readonly foreign: readonly { readonly name: string; readonly error: ForeignMetadataError }[];
} {
  const deployments: Deployment[] = [];
  const foreign: { name: string; error: ForeignMetadataError }[] = [];
  for (const [name, { metadata }] of presences) {
    const presence = orForeign(() => decodePresence(metadata));
    if (presence instanceof ForeignMetadataError) {
      foreign.push({ name, error: presence });
      continue;
    }
    const age = date - presence.tickedAt;
    if (age > GONE_MS) continue;
    deployments.push({ ...presence, name, state: presenceState(presence, date), lately: age <= LATELY_MS });
  }
  return { deployments, foreign };
}
