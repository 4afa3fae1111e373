import { argument, become, branch, call, drop, operand, operation, property, returned } from './edit';
import type { Planted } from './planted';

const mix = 'backfills';

/** Rules of back-fills. */
export const BACKFILL_FAULTS: readonly Planted[] = [
  {
    name: 'backfill-overlaps',
    mix,
    what: 'a due time that comes during a back-filled run gets its outcome by `overlap`',
    edits: [drop('core/decide/verdict.ts:verdictOn', branch('waitedForBackfill'))],
  },
  {
    name: 'backfill-not-moved',
    mix,
    what: 'the claim of a back-filled due time does not move the progress',
    edits: [
      become('core/backfill.ts:stepOf', returned('run'), '{ ...$, progress: { ...progress, ran: progress.ran + 1 } }'),
    ],
  },
  {
    name: 'backfill-not-stopped',
    mix,
    what: 'a back-fill continues after it was stopped',
    edits: [drop('core/backfill.ts:isActive', operand('stopped'))],
  },
  {
    name: 'backfill-not-paused',
    mix,
    what: 'a back-fill continues while its job is paused',
    edits: [become('core/decide/backfill.ts:runnable', argument('currentPause', 0), '{ ...$, pauses: [] }')],
  },
  {
    name: 'backfill-first',
    mix,
    what: 'a back-fill goes before due times',
    edits: [become('core/decide/due.ts:decideFirst', returned('dueClaim', 'manual'), '{ ...$, row: () => carry(s) }')],
  },
  {
    name: 'backfill-runs-succeeded',
    mix,
    what: 'a back-fill runs due times that have succeeded',
    edits: [become('core/backfill.ts:stepOf', call('has', 'succeeded'), 'ledger?.ended.has(due)')],
  },
  {
    name: 'backfill-aside-lost',
    mix,
    what: 'a back-filled run that gave way to a due time is forgotten',
    edits: [
      become('core/decide/backfill.ts:withAside', property('aside'), 'aside: aside.since < 0 ? aside : undefined'),
    ],
  },
  {
    name: 'backfill-aside-again',
    mix,
    what: 'a run that waited aside is not taken out of the row',
    edits: [drop('core/decide/backfill.ts:resumeAside', operand('aside'))],
  },
  {
    name: 'backfill-gives-way',
    mix,
    what: 'a due time ends a back-filled run where `overlap` is `cancel`',
    edits: [drop('coordinator/attempt/run-handler.ts:watchForCancel', operation('!==', 'row'))],
  },
];
