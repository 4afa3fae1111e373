import type { Planted } from './planted';

const REQUIRES = 'core/requires.ts';
const VERDICT = 'core/decide/verdict.ts';

/** Rules of due times that wait for other jobs. */
export const REQUIRES_FAULTS: readonly Planted[] = [
  {
    name: 'requires-ignored',
    what: 'a due time does not wait for the jobs that it requires',
    mix: 'requires',
    edits: [{ file: REQUIRES, in: 'requirementOf', from: 'job.requires.length === 0', to: 'job.requires.length >= 0' }],
  },
  {
    name: 'requires-last-run',
    what: 'the run of the last due time counts for the next one too',
    mix: 'requires',
    edits: [{ file: REQUIRES, in: 'requirementOf', from: '-Infinity) <= since);', to: '-Infinity) < since);' }],
  },
  {
    name: 'requires-one',
    what: 'one of several required jobs is enough',
    mix: 'requires',
    edits: [
      {
        file: REQUIRES,
        in: 'requirementOf',
        from: "if (jobs.length === 0) return { kind: 'met' };",
        to: "if (jobs.length < job.requires.length) return { kind: 'met' };",
      },
    ],
  },
  {
    name: 'requires-old-absence',
    what: 'a due time expires by an old reading of the ledger of a required job',
    mix: 'requires',
    edits: [
      {
        file: REQUIRES,
        in: 'requirementOf',
        from: 'return isOver && known.readAt + DATE_RESOLUTION_MS < until;',
        to: 'return false;',
      },
    ],
  },
  {
    name: 'requires-after-overlap',
    what: 'a due time that waits for required jobs is overlapped by the last run',
    mix: 'requires',
    edits: [
      {
        file: VERDICT,
        in: 'verdictOn',
        from: "if (requirement.kind !== 'met') return requirement;",
        to: "if (requirement.kind !== 'met' && !duringLastRun(view.row, actual)) return requirement;",
      },
    ],
  },
  {
    name: 'requires-newer-waits',
    what: 'a due time collapses into a newer one that still waits',
    mix: 'requires',
    edits: [
      {
        file: VERDICT,
        in: 'insteadOfNewer',
        from: "return requirement.kind === 'met' ? verdicts.newer : verdicts.own;",
        to: 'return verdicts.newer;',
      },
    ],
  },
  {
    name: 'requires-missed',
    what: 'a due time that waited counts as missed',
    mix: 'requires',
    edits: [
      {
        file: VERDICT,
        in: 'onTimeMs',
        from: 'return requires.length === 0 ? onTime : requireWithinMs + onTime;',
        to: 'return onTime;',
      },
    ],
  },
  {
    name: 'requires-unwoken',
    what: 'a job that waits is not looked at when a required job has succeeded',
    mix: 'requires',
    edits: [
      {
        file: 'coordinator/tick/notes.ts',
        in: 'requiredMoved',
        from: "return next.kind === 'awaits' ? { kind: 'awaits', at: Math.min(next.at, now) } : next;",
        to: 'return next;',
      },
    ],
  },
  {
    name: 'requires-forgotten',
    what: 'a success whose record retention has deleted is not known any more',
    mix: 'requires+retention',
    edits: [
      {
        file: 'coordinator/required.ts',
        in: 'requiredWatch',
        from: 'note.succeeded = newer(note.succeeded, rememberedSuccess(row.metadata, row.lease));',
        to: 'void rememberedSuccess;',
      },
    ],
  },
];
