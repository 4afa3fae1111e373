import { become, drop, last, never, operation, operator, returned, statement, test } from './edit';
import type { Planted } from './planted';

/** Rules of due times that wait for other jobs. */
export const REQUIRES_FAULTS: readonly Planted[] = [
  {
    name: 'requires-ignored',
    what: 'a due time does not wait for the jobs that it requires',
    mix: 'requires',
    edits: [operator('core/requires.ts:requirementOf', operation('===', 'requires', '0'), '>=')],
  },
  {
    name: 'requires-last-run',
    what: 'the run of the last due time counts for the next one too',
    mix: 'requires',
    edits: [operator('core/requires.ts:requirementOf', operation('<='), '<')],
  },
  {
    name: 'requires-one',
    what: 'one of several required jobs is enough',
    mix: 'requires',
    edits: [become('core/requires.ts:requirementOf', test('jobs'), 'jobs.length < job.requires.length')],
  },
  {
    name: 'requires-old-absence',
    what: 'a due time expires by an old reading of the ledger of a required job',
    mix: 'requires',
    edits: [never('core/requires.ts:requirementOf', operation('&&'))],
  },
  {
    name: 'requires-after-overlap',
    what: 'a due time that waits for required jobs is overlapped by the last run',
    mix: 'requires',
    edits: [
      become('core/decide/verdict.ts:verdictOn', operation('!==', 'kind'), '$ && !duringLastRun(view.row, actual)'),
    ],
  },
  {
    name: 'requires-newer-waits',
    what: 'a due time collapses into a newer one that still waits',
    mix: 'requires',
    edits: [become('core/decide/verdict.ts:insteadOfNewer', returned('kind'), 'verdicts.newer')],
  },
  {
    name: 'requires-missed',
    what: 'a due time that waited counts as missed',
    mix: 'requires',
    edits: [become('core/decide/verdict.ts:onTimeMs', returned(), 'onTime')],
  },
  {
    name: 'requires-unwoken',
    what: 'a job that waits is not looked at when a required job has succeeded',
    mix: 'requires',
    edits: [become('coordinator/tick/notes.ts:requiredMoved', returned(), 'next')],
  },
  {
    name: 'requires-forgotten',
    what: 'a success whose record retention has deleted is not known any more',
    mix: 'requires+retention',
    edits: [drop('coordinator/ledger-watch.ts:requiredWatch', last(statement('rememberedSuccess')))],
  },
];
