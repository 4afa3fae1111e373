import type { CountedCalls } from './situation';

/**
 * The calls to storage of each situation, counted on the emulator. Generated: `npm run calls` counts and writes them
 * again, and test/e2e/storage-calls.long.test.ts compares them with new counts.
 */
export const COUNTED_CALLS: CountedCalls = {
  idleTick: { calls: {}, activities: 0, turns: 0 },
  sweep: { calls: { listing: 1 }, activities: 0, turns: 0 },
  presence: { calls: { write: 1 }, activities: 0, turns: 0 },
  noticeSweep: { calls: { listing: 1 }, activities: 0, turns: 0 },
  notice: { calls: { write: 1, metadata: 1 }, activities: 0, turns: 0 },
  dueTick: { calls: { listing: 2 }, activities: 0, turns: 0 },
  won: { calls: { metadata: 1, acquire: 1 }, activities: 1, turns: 2 },
  settled: { calls: { write: 1, release: 1 }, activities: 0, turns: 0 },
  lost: { calls: { acquire: 1 }, activities: 0, turns: 0 },
  renewed: { calls: { read: 1, renew: 1 }, activities: 0, turns: 0 },
  takenOver: { calls: { read: 2, write: 1, metadata: 1, acquire: 1 }, activities: 1, turns: 2 },
  fannedOut: { calls: { read: 2, write: 4, metadata: 3, acquire: 2, release: 2, delete: 2 }, activities: 2, turns: 5 },
  item: { calls: { read: 3, write: 1, delete: 1 }, activities: 1, turns: 1 },
};
