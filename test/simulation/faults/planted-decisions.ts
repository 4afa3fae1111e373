import {
  argument,
  become,
  before,
  branch,
  call,
  drop,
  never,
  operand,
  operation,
  property,
  returned,
  spread,
  summand,
  test,
  value,
} from './edit';
import type { Planted } from './planted';

/** Rules of what a tick decides, and of cursor and owed records. */
export const DECISION_FAULTS: readonly Planted[] = [
  {
    name: 'no-cursor',
    what: 'the claim does not move the cursor',
    edits: [become('core/decide/due.ts:dueClaim', argument('freshRun', 0), 'base')],
  },
  {
    name: 'retrying-read-as-settled',
    what: 'an expired row that is retrying counts as settled',
    edits: [
      become(
        'core/decide/unfinished.ts:decideUnfinished',
        test('run'),
        "$ || (row.phase === 'retrying' && s.lease === 'expired')",
      ),
    ],
  },
  {
    name: 'retrying-forgotten',
    what: 'an expired row that is retrying is never resumed',
    edits: [
      before(
        'core/decide/unfinished.ts:decideUnfinished',
        call('cancelReason'),
        "if (row.phase === 'retrying' && s.lease === 'expired') return { kind: 'nothing', checkAt: undefined };",
      ),
    ],
  },
  {
    name: 'expired-read-as-settled',
    what: "an expired row counts as settled, and its holder's death is not noticed",
    edits: [become('core/decide/unfinished.ts:decideUnfinished', operand('available'), "s.lease !== 'held'")],
  },
  {
    name: 'owed-dropped',
    what: 'the owed records of an expired row are dropped',
    edits: [become('core/decide/next-row.ts:carry', value('owed'), '[]')],
  },
  {
    name: 'no-fast-clock-cap',
    what: "due times are decided past the listing's limit",
    edits: [become('core/decide/due.ts:outcomeView', value('limit'), 'Infinity')],
  },
  {
    name: 'busy-until-forgotten',
    what: 'the row does not hold the end of the last run',
    edits: [drop('coordinator/settle.ts:newsOf', spread('waits'))],
  },
  {
    name: 'standstill-overlaps',
    what: 'a due time is overlapped by a run that no instance was at work on',
    mix: 'kills',
    edits: [become('core/decide/verdict.ts:duringLastRun', returned('standstillAt'), 'true')],
  },
  {
    name: 'attempt-ends-with-claim',
    what: "a holder counts as dead from the end of its claim's first lease on",
    mix: 'kills',
    edits: [drop('core/row.ts:standsFrom', summand('attemptLimitMs'))],
  },
  {
    name: 'pause-ignored',
    what: 'a pause is ignored',
    edits: [
      become('core/decide/verdict.ts:verdictOn', value('pause'), 'pauseAt({ ...control, pauses: [] }, actual)'),
      never('core/decide/verdict.ts:outcomesOf', operation('!==')),
    ],
  },
  {
    name: 'young-collapsed',
    what: 'due times collapse before they are 30 s old',
    edits: [become('core/decide/verdict.ts:ON_TIME_MS', value('ON_TIME_MS'), '3_000')],
  },
  {
    name: 'window-ignored',
    what: 'due times older than catchUpWindow run all the same',
    edits: [drop('core/decide/verdict.ts:verdictOn', branch('catchUpWindowMs'))],
  },
  {
    name: 'missed-runs',
    what: 'catchUp "none" runs missed due times',
    edits: [become('core/decide/verdict.ts:verdictOn', operation('&&', 'catchUp'), '$ && age < 0')],
  },
  {
    name: 'lower-revision-decides',
    what: 'an older jobs file decides over a newer schedule',
    edits: [drop('core/decide/decide.ts:decide', branch('scheduleHash'))],
  },
  {
    name: 'disabled-runs',
    what: 'a disabled job runs',
    edits: [drop('core/decide/verdict.ts:verdictOn', branch('enabled'))],
  },
  {
    name: 'manual-run-taken-twice',
    what: 'the row does not remember the last manual run that was taken',
    edits: [drop('core/decide/due.ts:manualClaim', property('manualTaken'))],
  },
  {
    name: 'attempts-not-counted',
    what: 'a take-over does not count as an attempt',
    edits: [never('core/decide/unfinished.ts:takeOver', operation('>='))],
  },
  {
    name: 'unmarked-counts',
    what: 'a lost attempt counts although it could not mark its run',
    edits: [become('core/decide/unfinished.ts:counts', operand('marked'), "record !== 'final'")],
  },
  {
    name: 'first-start-not-counted',
    what: 'a lost first attempt, which needs no mark, does not count',
    edits: [drop('core/decide/unfinished.ts:counts', operand('attempt'))],
  },
  {
    name: 'cursor-skips',
    what: 'the cursor passes a due time without an outcome',
    edits: [
      before(
        'core/decide/verdict.ts:outcomesOf',
        branch('waits'),
        `if (verdict.reason === 'catchUpLatest') {
      cursor = scheduledFor;
      continue;
    }`,
      ),
    ],
  },
  {
    name: 'late-hand-over-expires',
    what: 'a due time of catchUp none expires after 30 s, however long its lease is',
    edits: [become('core/decide/verdict.ts:verdictOn', call('onTimeMs'), 'ON_TIME_MS')],
  },
  {
    name: 'collapsed-into-pause',
    what: 'a missed due time collapses into one that lies in a pause',
    edits: [drop('core/decide/verdict.ts:verdictOn', operand('pauseAt'))],
  },
];
