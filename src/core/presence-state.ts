import type { EpochMs, Millis } from './brand';

/** The shortest time between two presence writes of a deployment. */
export const PRESENCE_EVERY_MS = 60_000;

/** After this long without a report, a deployment is silent, unless its timer fires less often. */
const SILENT_AFTER_MS = 2 * 60_000;
const TICKS_MISSED = 3;

/** What a deployment reports of its ticks. */
interface Report {
  readonly tickedAt: EpochMs;
  /** The longest time between two fires of its timer. */
  readonly tickEveryMs: Millis;
}

/** What a process lacks, so that most of its handlers are called late. */
export const SHORTAGES = ['cpu', 'storage'] as const;
export type Shortage = (typeof SHORTAGES)[number];

/** `late`: it has missed three fires of its timer. `silent`: nothing has been heard of it for two minutes. */
export const PRESENCE_STATES = ['live', 'late', 'silent'] as const;
export type PresenceState = (typeof PRESENCE_STATES)[number];

/** A deployment that ticks reports that with its first tick after {@link PRESENCE_EVERY_MS}. */
export function presenceState({ tickedAt, tickEveryMs }: Report, now: EpochMs): PresenceState {
  const age = now - tickedAt;
  const lateMs = PRESENCE_EVERY_MS + TICKS_MISSED * tickEveryMs;
  if (age < lateMs) return 'live';
  return age < Math.max(SILENT_AFTER_MS, lateMs + tickEveryMs) ? 'late' : 'silent';
}
