import type { Planted } from './planted';

/** Rules of runs that fan out: plan, items, gathering. */
export const FAN_OUT_FAULTS: readonly Planted[] = [
  {
    name: 'item-trusts-deadline',
    what: 'one look lets an item trust up to the deadline',
    edits: [
      {
        file: 'coordinator/standing.ts',
        from: 'trustMs: Math.min(left, LOOK_TRUSTS_MS)',
        to: 'trustMs: left',
      },
    ],
  },
];
