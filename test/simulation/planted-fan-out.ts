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
  {
    name: 'done-items-time-out',
    what: 'with its attempts used up, a run ends at the deadline of its items without a look whether they are done',
    edits: [
      {
        file: 'coordinator/attempt.ts',
        from: "&& !(end.fate === 'timedOut' && isFanOut(held.job.handler));",
        to: ';',
      },
    ],
  },
];
