import type { Planted } from './planted';

const mix = 'backfills';

/** Rules of back-fills. */
export const BACKFILL_FAULTS: readonly Planted[] = [
  {
    ...{ name: 'backfill-overlaps', mix },
    what: 'a due time that comes during a back-filled run gets its fate by `overlap`',
    edits: [
      {
        file: 'core/decide/verdict.ts',
        in: 'verdictOn',
        from: 'if (waitedForBackfill(view.row, actual)) return afterBackfill(view, scheduledFor);',
        to: '',
      },
    ],
  },
  {
    ...{ name: 'backfill-not-moved', mix },
    what: 'the claim of a back-filled due time does not move the progress',
    edits: [
      {
        file: 'core/backfill.ts',
        in: 'stepOf',
        from: 'progress: { ...progress, at: due, ran: progress.ran + 1 }',
        to: 'progress: { ...progress, ran: progress.ran + 1 }',
      },
    ],
  },
  {
    ...{ name: 'backfill-not-stopped', mix },
    what: 'a back-fill continues after it was stopped',
    edits: [
      {
        file: 'core/backfill.ts',
        in: 'isActive',
        from: 'backfill.stopped === undefined && ',
        to: '',
      },
    ],
  },
  {
    ...{ name: 'backfill-not-paused', mix },
    what: 'a back-fill continues while its job is paused',
    edits: [
      {
        file: 'core/decide/backfill.ts',
        in: 'runnable',
        from: 'return currentPause(control, seenBy(s)) === undefined ? backfill : undefined;',
        to: 'return currentPause({ ...control, pauses: [] }, seenBy(s)) === undefined ? backfill : undefined;',
      },
    ],
  },
  {
    ...{ name: 'backfill-first', mix },
    what: 'a back-fill goes before due times',
    edits: [
      {
        file: 'core/decide/due.ts',
        in: 'decideFirst',
        from: "return { decision: { kind: 'claim', claim: dueClaim(decided(s, fates, manual), next) } };",
        to: "return { decision: { kind: 'claim', claim: dueClaim(decided(s, fates, manual), next) }, row: carry(s) };",
      },
    ],
  },
  {
    ...{ name: 'backfill-runs-succeeded', mix },
    what: 'a back-fill runs due times that have succeeded',
    edits: [
      {
        file: 'core/backfill.ts',
        in: 'stepOf',
        from: 'ledger?.succeeded.has(due) !== true)',
        to: 'ledger?.ended.has(due) !== true)',
      },
    ],
  },
  {
    ...{ name: 'backfill-aside-lost', mix },
    what: 'a back-filled run that gave way to a due time is forgotten',
    edits: [
      {
        file: 'core/decide/backfill.ts',
        in: 'withAside',
        from: 'row: { ...claim.row, backfill: { ...backfill, aside } }',
        to: 'row: { ...claim.row, backfill: { ...backfill, aside: aside.since < 0 ? aside : undefined } }',
      },
    ],
  },
  {
    ...{ name: 'backfill-aside-again', mix },
    what: 'a run that waited aside is not taken out of the row',
    edits: [
      {
        file: 'core/decide/backfill.ts',
        in: 'resumeAside',
        from: 'backfill: row.backfill && { ...row.backfill, aside: undefined },',
        to: 'backfill: row.backfill,',
      },
    ],
  },
  {
    ...{ name: 'backfill-gives-way', mix },
    what: 'a due time ends a back-filled run where `overlap` is `cancel`',
    edits: [
      {
        file: 'coordinator/attempt/run-handler.ts',
        in: 'watchForCancel',
        from: " && held.row.run?.trigger !== 'backfill'",
        to: '',
      },
    ],
  },
];
