import { argument, become, branch, call, drop, imported, never, operand, operation, returned, test } from './edit';
import type { Planted } from './planted';

/** Rules for what people do. */
export const PEOPLE_FAULTS: readonly Planted[] = [
  {
    name: 'planned-end-missed',
    what: 'no instance looks at a job at the planned end of its pause',
    mix: 'plain',
    edits: [become('core/decide/verdict.ts:suspendedBy', returned(), "{ kind: 'suspended' }")],
  },
  {
    name: 'early-claim-unpausable',
    what: 'a run that was claimed early starts although its job was paused since',
    mix: 'people',
    edits: [drop('coordinator/attempt/waits.ts:waitForDue', branch('pauseAt'))],
  },
  {
    name: 'own-write-unknown',
    what: 'a command does not recognize its own write if the answer is a refusal',
    mix: 'people',
    edits: [
      drop('operator/change-control.ts:write', operand('isWritten')),
      never('operator/operations/run.ts:requestRun', test('own')),
    ],
  },
  {
    name: 'excuse-dropped',
    what: 'a control write drops the ended pause of a job without due times, and so its excuse',
    mix: 'hubs',
    edits: [become('operator/change-control.ts:tidy', call('excuses'), '($ && false)')],
  },
  {
    name: 'forgotten-token-lost',
    what: 'the tokens of a forgotten job begin again',
    mix: 'people',
    edits: [
      become(
        'core/row.ts:forgottenRow',
        returned(),
        '{ ...newRow(cursor, revision, scheduleHash), manualTaken: token < 0 ? 0 : manualTaken, forgotten: at }',
      ),
    ],
  },
  {
    name: 'forgotten-run-left',
    what: 'a job is forgotten before its run is recorded as cancelled',
    mix: 'people',
    edits: [drop('operator/operations/forget.ts:endRunOf', call('writeEnd', 'record'))],
  },
  {
    name: 'foreign-row-read',
    what: 'a row of a newer format is read like any other',
    mix: 'foreign',
    edits: [become('core/metadata.ts:checkFormat', test(), "$ && format !== '2'")],
  },
  {
    name: 'unreadable-unsaid',
    what: "no event reports a job whose row or control is not cronlease's",
    mix: 'foreign',
    edits: [drop('coordinator/tick/decide-on.ts:readAndDecide', call('troubled'))],
  },
  {
    name: 'foreign-row-stops-all',
    what: "a row that is not cronlease's counts as an outage of storage, and all jobs wait",
    mix: 'foreign',
    edits: [
      imported('coordinator/tick/decide-on.ts', `{ StoreUnavailableError } from '../../lease/store'`),
      become(
        'coordinator/tick/decide-on.ts:readAndDecide',
        branch(),
        `if (error instanceof ForeignMetadataError) throw new StoreUnavailableError('simulated', { cause: error });
    else throw error;`,
      ),
    ],
  },
  {
    name: 'deleted-row-begins-anew',
    what: 'a row that was deleted comes back with the tokens of a new job',
    mix: 'foreign',
    edits: [become('core/failover.ts:rowAfterLoss', operation('+', 'token'), '0 * ($)')],
  },
  {
    name: 'foreign-control-ignored',
    what: "a control that is not cronlease's counts as none",
    mix: 'people',
    edits: [
      become(
        'coordinator/decide-row.ts:decideRow',
        argument('controlOf', 0),
        "$?.metadata['pauses'] === 'of another program' ? undefined : seen.control",
      ),
    ],
  },
];
