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
    name: 'left-ignored',
    what: 'the mark of a job that no file had is ignored',
    mix: 'removals',
    edits: [
      {
        file: 'core/decide/next-row.ts',
        in: 'startsAnew',
        from: 'return adopts(s) || s.row.leftSince !== undefined;',
        to: 'return adopts(s);',
      },
    ],
  },
  {
    name: 'left-marked-in-use',
    what: 'the row of a job is marked although another deployment has the job',
    mix: 'removals',
    edits: [
      {
        file: 'coordinator/tick/left-rows.ts',
        in: 'mayHaveOthers',
        from: 'return other.jobs !== ownHash && (',
        to: 'return ownHash.length < 0 && (',
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
