import type { Planted } from './planted';

/** Rules of what a tick decides, and of cursor and owed records. */
export const DECISION_FAULTS: readonly Planted[] = [
  {
    name: 'no-cursor',
    what: 'the claim does not move the cursor',
    edits: [
      {
        file: 'core/decide/due.ts',
        in: 'dueClaim',
        from: 'row: freshRun({ ...base, cursor: Math.max(base.cursor, next.scheduledFor) }),',
        to: 'row: freshRun(base),',
      },
    ],
  },
  {
    name: 'retrying-read-as-settled',
    what: 'an expired row that is retrying counts as settled',
    edits: [
      {
        file: 'core/decide/unfinished.ts',
        in: 'decideUnfinished',
        from: "if (row.run === undefined) return undefined;\n  if (row.phase === 'idle') {",
        to: "if (row.run === undefined || (row.phase === 'retrying' && s.lease === 'expired')) return undefined;\n  if (row.phase === 'idle') {",
      },
    ],
  },
  {
    name: 'retrying-forgotten',
    what: 'an expired row that is retrying is never resumed',
    edits: [
      {
        file: 'core/decide/unfinished.ts',
        in: 'decideUnfinished',
        from: 'const cancel = cancelReason(s);',
        to: "if (row.phase === 'retrying' && s.lease === 'expired') return { kind: 'nothing', checkAt: undefined };\n  const cancel = cancelReason(s);",
      },
    ],
  },
  {
    name: 'expired-read-as-settled',
    what: "an expired row counts as settled, and its holder's death is not noticed",
    edits: [
      {
        file: 'core/decide/unfinished.ts',
        in: 'decideUnfinished',
        from: "if (s.lease === 'available' || s.record",
        to: "if (s.lease !== 'held' || s.record",
      },
    ],
  },
  {
    name: 'owed-dropped',
    what: 'the owed records of an expired row are dropped',
    edits: [
      {
        file: 'core/decide/next-row.ts',
        in: 'carry',
        from: "owed: s.lease === 'expired' ? row.owed : [],",
        to: 'owed: [],',
      },
    ],
  },
  {
    name: 'no-fast-clock-cap',
    what: "due times are decided past the listing's limit",
    edits: [
      { file: 'core/decide/due.ts', in: 'fateView', from: 'limit: listedBy + lookAheadMs', to: 'limit: Infinity' },
    ],
  },
  {
    name: 'busy-until-forgotten',
    what: 'the row does not hold the end of the last run',
    edits: [
      {
        file: 'coordinator/settle.ts',
        in: 'newsOf',
        from: '...(passed || waits ? { busyUntil: at } : {})',
        to: '...{}',
      },
    ],
  },
  {
    name: 'standstill-overlaps',
    what: 'a due time is overlapped by a run that nobody was at work on',
    mix: 'kills',
    edits: [
      {
        file: 'core/decide/verdict.ts',
        in: 'duringLastRun',
        from: 'return standstillAt(row, instant) === undefined;',
        to: 'return true;',
      },
    ],
  },
  {
    name: 'attempt-ends-with-claim',
    what: "a holder counts as dead from the end of its claim's first lease on",
    mix: 'kills',
    edits: [
      {
        file: 'core/standstill.ts',
        in: 'standsFrom',
        from: ' + limits.attemptLimitMs;',
        to: ';',
      },
    ],
  },
  {
    name: 'pause-ignored',
    what: 'a pause is ignored',
    edits: [
      {
        file: 'core/decide/verdict.ts',
        in: 'verdictOn',
        from: 'const pause = pauseAt(control, actual);',
        to: 'const pause = pauseAt({ ...control, pauses: [] }, actual);',
      },
      {
        file: 'core/decide/verdict.ts',
        in: 'fatesOf',
        from: 'if (pause !== undefined) return end(',
        to: 'if (pause !== undefined && false) return end(',
      },
    ],
  },
  {
    name: 'young-collapsed',
    what: 'due times collapse before they are 30 s old',
    edits: [
      { file: 'core/decide/verdict.ts', in: 'ON_TIME_MS', from: 'ON_TIME_MS = 30_000', to: 'ON_TIME_MS = 3_000' },
    ],
  },
  {
    name: 'window-ignored',
    what: 'due times older than catchUpWindow run all the same',
    edits: [
      {
        file: 'core/decide/verdict.ts',
        in: 'verdictOn',
        from: "if (age > job.catchUpWindowMs) return unrun('expired', 'catchUpWindow');",
        to: '',
      },
    ],
  },
  {
    name: 'missed-runs',
    what: 'catchUp "none" runs missed due times',
    edits: [
      {
        file: 'core/decide/verdict.ts',
        in: 'verdictOn',
        from: "if (isMissed && job.catchUp === 'none')",
        to: "if (isMissed && job.catchUp === 'none' && age < 0)",
      },
    ],
  },
  {
    name: 'lower-revision-decides',
    what: 'an older jobs file decides over a newer schedule',
    edits: [
      {
        file: 'core/decide/decide.ts',
        in: 'decide',
        from: "if (job.scheduleHash !== row.scheduleHash && revision < row.revision) return { kind: 'lowerRevision' };",
        to: '',
      },
    ],
  },
  {
    name: 'disabled-runs',
    what: 'a disabled job runs',
    edits: [
      {
        file: 'core/decide/verdict.ts',
        in: 'verdictOn',
        from: "if (!job.enabled) return { kind: 'suspended', fate: 'disabled' };",
        to: '',
      },
    ],
  },
  {
    name: 'request-taken-twice',
    what: 'the row does not remember the last request that was taken',
    edits: [{ file: 'core/decide/due.ts', in: 'manualClaim', from: ', manualTaken: request.number })', to: ' })' }],
  },
  {
    name: 'attempts-not-counted',
    what: 'a take-over does not count as an attempt',
    edits: [
      {
        file: 'core/decide/unfinished.ts',
        in: 'takeOver',
        from: 'const usedUp = row.attempt - row.uncountedAttempts >= s.job.retry.attempts;',
        to: 'const usedUp = false;',
      },
    ],
  },
  {
    name: 'unmarked-counts',
    what: 'a lost attempt counts although it could not mark its run',
    edits: [
      {
        file: 'core/decide/unfinished.ts',
        in: 'counts',
        from: "record === 'marked'",
        to: "record !== 'final'",
      },
    ],
  },
  {
    name: 'first-start-not-counted',
    what: 'a lost first attempt, which needs no mark, does not count',
    edits: [
      {
        file: 'core/decide/unfinished.ts',
        in: 'counts',
        from: 'row.attempt === 1 || ',
        to: '',
      },
    ],
  },
  {
    name: 'cursor-skips',
    what: 'the cursor passes a due time without an outcome',
    edits: [
      {
        file: 'core/decide/verdict.ts',
        in: 'fatesOf',
        from: "if (verdict.kind === 'suspended') return end(suspendedBy(verdict.pause));",
        to: "if (verdict.kind === 'suspended') return end(suspendedBy(verdict.pause));\n    if (verdict.reason === 'catchUpLatest') {\n      cursor = scheduledFor;\n      continue;\n    }",
      },
    ],
  },
  {
    name: 'late-hand-over-expires',
    what: 'a due time of catchUp none expires after 30 s, however long its lease is',
    edits: [
      {
        file: 'core/decide/verdict.ts',
        in: 'verdictOn',
        from: 'const isMissed = age > onTimeMs(job);',
        to: 'const isMissed = age > ON_TIME_MS;',
      },
    ],
  },
  {
    name: 'collapsed-into-pause',
    what: 'a missed due time collapses into one that lies in a pause',
    edits: [
      {
        file: 'core/decide/verdict.ts',
        in: 'verdictOn',
        from: '(at) => pauseAt(control, at) ?? skippedAt(view, at)',
        to: '(at) => skippedAt(view, at)',
      },
    ],
  },
];
