import {
  always,
  argument,
  become,
  before,
  behind,
  branch,
  call,
  drop,
  last,
  operation,
  returned,
  test,
  value,
} from './edit';
import type { Planted } from './planted';

/** Rules of a move of all jobs to another store, and of the layouts that deployments obey meanwhile. */
export const MIGRATION_FAULTS: readonly Planted[] = [
  {
    name: 'announced-move-unheeded',
    what: 'deployments begin runs while the layout says that the jobs move',
    mix: 'migrations',
    edits: [
      become('core/layout.ts:allowanceOf', returned('begun'), "followed === own ? { claims: 'all' } : none(reason)"),
    ],
  },
  {
    name: 'left-store-used',
    what: 'deployments claim in a store that all jobs have left',
    mix: 'migrations',
    edits: [become('core/layout.ts:allowanceOf', branch('left'), "if (layout.left) return { claims: 'all' };")],
  },
  {
    name: 'move-unannounced-in-time',
    what: '`migrate` does not wait until every deployment has swept',
    mix: 'migrations',
    edits: [become('operator/shards/apply.ts:waitForDeployments', operation('>'), 'left > waitMs')],
  },
  {
    name: 'settled-before-all-moved',
    what: '`migrate` settles the layouts although it could not move every job',
    mix: 'migrations',
    edits: [
      behind(
        'operator/shards/apply.ts:applyShards',
        call('inParallel'),
        'if (refused.length > 0) await settle(await surveyAccounts(change), version);',
      ),
    ],
  },
  {
    name: 'live-before-moved',
    what: 'the copy of a row counts before the original is marked as moved',
    mix: 'migrations',
    edits: [before('operator/shards/move.ts:moveJob', call('renewHeld'), 'await makeLive(to, job);')],
  },
  {
    name: 'moved-without-guard',
    what: '`migrate` continues if its mark on the original is refused',
    mix: 'migrations',
    edits: [
      drop('operator/shards/move.ts:moveJob', call('renewHeld')),
      become(
        'operator/operations/take-lease.ts:writeMetadata',
        branch(),
        "if (answer.kind === 'refused') return void whose;",
      ),
    ],
  },
  {
    name: 'moved-token-lost',
    what: 'the tokens of a moved job begin again',
    mix: 'migrations',
    edits: [become('core/layout.ts:arrivingRow', argument('String', 0), '$ - token')],
  },
  {
    name: 'unfinished-run-moved',
    what: 'a job moves while its run is not over',
    mix: 'migrations',
    edits: [become('operator/shards/move.ts:moveJob', value('goesOn'), '($) && undefined')],
  },
  {
    name: 'late-records-left',
    what: 'records that came during the wait of `migrate` are not copied',
    mix: 'migrations',
    edits: [drop('operator/shards/move.ts:copyRecords', last(call('copyHistory')))],
  },
  {
    name: 'open-records-copied',
    what: 'the records of runs that are not over are copied ahead of their jobs, and their ends are not',
    mix: 'migrations',
    edits: [
      become('operator/shards/move.ts:copyRecord', operation('&&', 'history'), '$ && summary === undefined'),
      become('operator/shards/move.ts:copyRecord', operation('>'), '$ || true'),
    ],
  },
  {
    name: 'control-left-behind',
    what: 'a moved job leaves its control behind',
    mix: 'migrations',
    edits: [become('operator/shards/move.ts:moveControl', test('writeControl'), 'control === undefined')],
  },
  {
    name: 'ended-run-unseen',
    what: 'the copy of a row does not show until when a run lasted that `migrate` has ended',
    mix: 'migrations',
    edits: [become('operator/operations/forget.ts:endRunOf', value('busyUntil'), 'undefined')],
  },
  {
    name: 'moved-owing',
    what: 'the copy of a row is released although it owes notices',
    mix: 'migrations',
    edits: [always('operator/shards/move.ts:makeLive', test('readOwedNotices'))],
  },
  {
    name: 'owed-notices-left',
    what: 'the copy of a row owes none of the notices that its dead holder has left',
    mix: 'migrations',
    edits: [
      before(
        'operator/shards/move.ts:settledRow',
        branch(),
        "if (lease !== 'available') return { ...row, telling: [] };",
      ),
    ],
  },
];
