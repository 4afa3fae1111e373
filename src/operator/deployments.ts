import { ForeignMetadataError } from '../core/metadata';
import type { Presence } from '../core/presence';
import { decodePresence, PRESENCE_EVERY_MS } from '../core/presence';
import type { Presences } from '../lease/store';

/** A deployment that ticks writes its presence twice in this time. */
const LIVE_MS = 2 * PRESENCE_EVERY_MS + 60_000;
/** A deployment that has not ticked for this long is gone, and is ignored. */
const GONE_MS = 7 * 24 * 3_600_000;

export interface Deployment extends Presence {
  readonly name: string;
  /** Whether it has written its presence as often as it should. */
  readonly live: boolean;
}

/** The deployments that have ticked in the last week, by name. `foreign` has the unreadable ones. */
export function deploymentsOf({ date, presences }: Presences): {
  readonly deployments: readonly Deployment[];
  readonly foreign: readonly { readonly name: string; readonly error: ForeignMetadataError }[];
} {
  const deployments: Deployment[] = [];
  const foreign: { name: string; error: ForeignMetadataError }[] = [];
  for (const [name, { metadata }] of presences) {
    try {
      const presence = decodePresence(metadata);
      const age = date - presence.tickedAt;
      if (age <= GONE_MS) deployments.push({ ...presence, name, live: age <= LIVE_MS });
    } catch (error) {
      if (!(error instanceof ForeignMetadataError)) throw error;
      foreign.push({ name, error });
    }
  }
  return { deployments, foreign };
}
