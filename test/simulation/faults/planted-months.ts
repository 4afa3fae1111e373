import { become, drop, last, never, operand, operation, operator, test, value } from './edit';
import type { Planted } from './planted';

/** Rules for what is older than its records. */
export const MONTHS_FAULTS: readonly Planted[] = [
  {
    name: 'absence-proves',
    what: 'a run without a record is taken over however old it is',
    mix: 'retention',
    edits: [never('core/decide/unfinished.ts:decideUnfinished', value('isLost'))],
  },
  {
    name: 'settled-left-expired',
    what: 'a settled row whose holder died is not released by a sweep',
    mix: 'retention',
    edits: [drop('core/decide/next-row.ts:isLeftBehind', last(operand('phase', 'record')))],
  },
  {
    name: 'left-ignored',
    what: 'the mark of a job that no file had is ignored',
    mix: 'removals',
    edits: [drop('core/decide/next-row.ts:startsAnew', operation('!=='))],
  },
  {
    name: 'left-marked-in-use',
    what: 'the row of a job is marked although another deployment has the job',
    mix: 'removals',
    edits: [become('coordinator/tick/left-rows.ts:mayHaveOthers', operation('!=='), 'ownHash.length < 0')],
  },
  {
    name: 'change-leaves-no-record',
    what: 'undecided due times of the old schedule get no record when a new one is adopted',
    mix: 'schedules',
    edits: [
      become(
        'core/decide/next-row.ts:adopt',
        value('owed'),
        'base.owed.filter(() => from + through + change.count > 0)',
      ),
    ],
  },
  {
    name: 'equal-revision-adopts',
    what: 'an equal revision replaces the schedule of the other',
    mix: 'schedules',
    edits: [operator('core/decide/next-row.ts:adopts', operation('>'), '>=')],
  },
  {
    name: 'end-unsaid',
    what: 'a row is handed over whose run only a deleted record shows to be over',
    mix: 'retention',
    edits: [become('core/decide/next-row.ts:settlesAt', test('available'), '$ || row.token > 0')],
  },
];
