import type { Planted } from './planted';

/** Rules for what is older than its records. */
export const MONTHS_FAULTS: readonly Planted[] = [
  {
    name: 'absence-proves',
    what: 'a run without a record is taken over however old it is',
    mix: 'retention',
    edits: [
      {
        file: 'core/decide/unfinished.ts',
        in: 'decideUnfinished',
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
        file: 'core/decide/next-row.ts',
        in: 'isLeftBehind',
        from: " || (row.phase === 'running' && record === 'final')",
        to: '',
      },
    ],
  },
  {
    name: 'change-leaves-no-record',
    what: 'undecided due times of the old schedule get no record when a new one is adopted',
    mix: 'schedules',
    edits: [
      {
        file: 'core/decide/next-row.ts',
        in: 'adopt',
        from: 'owed: from > through ? base.owed : [...base.owed, change],',
        to: 'owed: base.owed.filter(() => from + through + change.count > 0),',
      },
    ],
  },
  {
    name: 'equal-revision-adopts',
    what: 'an equal revision replaces the schedule of the other',
    mix: 'schedules',
    edits: [
      {
        file: 'core/decide/next-row.ts',
        in: 'adopts',
        from: 'return job.scheduleHash !== row.scheduleHash && revision > row.revision;',
        to: 'return job.scheduleHash !== row.scheduleHash && revision >= row.revision;',
      },
    ],
  },
  {
    name: 'end-unsaid',
    what: 'a row is handed over whose run only a deleted record shows to be over',
    mix: 'retention',
    edits: [
      {
        file: 'core/decide/next-row.ts',
        in: 'settlesAt',
        from: "if (lease !== 'available') return undefined;",
        to: "if (lease !== 'available' || row.token > 0) return undefined;",
      },
    ],
  },
];
