import type { Planted } from './planted';

/** Rules for what is older than its records. */
export const MONTHS_FAULTS: readonly Planted[] = [
  {
    name: 'absence-proves',
    what: 'a run without a record is taken over however old it is',
    mix: 'retention',
    edits: [
      {
        file: 'core/decide.ts',
        from: "const isLost = s.record === 'none' && mayRecordBeGone(",
        to: "const isLost = s.record === 'none' && false && mayRecordBeGone(",
      },
    ],
  },
  {
    name: 'settled-left-expired',
    what: 'a settled row whose holder died is not released by a sweep',
    mix: 'retention',
    edits: [
      {
        file: 'core/decide.ts',
        from: "(row.owed.length > 0 || (row.phase === 'running' && record === 'final'))",
        to: 'row.owed.length > 0',
      },
    ],
  },
];
