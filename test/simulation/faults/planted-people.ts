import type { Planted } from './planted';

/** Rules for what people do. */
export const PEOPLE_FAULTS: readonly Planted[] = [
  {
    name: 'planned-end-missed',
    what: 'nobody looks at a job at the planned end of its pause',
    mix: 'plain',
    edits: [
      {
        file: 'core/decide/verdict.ts',
        in: 'suspendedBy',
        from: "return pause?.until === undefined ? { kind: 'suspended' } : { kind: 'later', at: pause.until };",
        to: "return { kind: pause === undefined ? 'suspended' : 'suspended' };",
      },
    ],
  },
  {
    name: 'early-claim-unpausable',
    what: 'a run that was claimed early starts although its job was paused since',
    mix: 'people',
    edits: [
      {
        file: 'coordinator/attempt/wait-for-due.ts',
        in: 'waitForDue',
        from: 'if (pauseAt(control, due) !== undefined) return true;',
        to: '',
      },
    ],
  },
  {
    name: 'own-write-unknown',
    what: 'a command does not recognize its own write if the answer is a refusal',
    mix: 'people',
    edits: [
      {
        file: 'operator/change-record.ts',
        in: 'write',
        from: "=== 'written' || (await isWritten());",
        to: "=== 'written';",
      },
      {
        file: 'operator/request.ts',
        in: 'requestRun',
        from: 'if (own !== undefined)',
        to: 'if (false && own !== undefined)',
      },
    ],
  },
  {
    name: 'excuse-dropped',
    what: 'a control write drops the ended pause of a job without due times, and so its excuse',
    mix: 'hubs',
    edits: [
      {
        file: 'operator/change-control.ts',
        in: 'tidy',
        from: 'stillCounts(pause, row, spec) || excuses(pause, control, row, spec)',
        to: 'stillCounts(pause, row, spec) || (excuses(pause, control, row, spec) && false)',
      },
    ],
  },
  {
    name: 'forgotten-token-lost',
    what: 'the tokens of a forgotten job begin again',
    mix: 'people',
    edits: [
      {
        file: 'core/row.ts',
        in: 'forgottenRow',
        from: 'return { ...newRow(cursor, revision, scheduleHash), token, manualTaken, forgotten: at };',
        to: 'return { ...newRow(cursor, revision, scheduleHash), manualTaken: token < 0 ? 0 : manualTaken, forgotten: at };',
      },
    ],
  },
  {
    name: 'forgotten-run-left',
    what: 'a job is forgotten before its run is recorded as cancelled',
    mix: 'people',
    edits: [
      {
        file: 'operator/forget.ts',
        in: 'endRunOf',
        from: 'await writeEnd(desk, holding, run.key, record);',
        to: 'void record;',
      },
    ],
  },
  {
    name: 'foreign-row-read',
    what: 'a row of a newer format is read like any other',
    mix: 'foreign',
    edits: [
      {
        file: 'core/row.ts',
        in: 'decodeRow',
        from: "if (format !== '1') throw",
        to: "if (format !== '1' && format !== '2') throw",
      },
    ],
  },
  {
    name: 'quarantine-unsaid',
    what: "no event reports a job whose row or control is not cronlease's",
    mix: 'foreign',
    edits: [
      {
        file: 'coordinator/tick/read-and-decide.ts',
        in: 'readAndDecide',
        from: 'troubled(coordinator, quarantine, { job: name, reason }, report);',
        to: 'void reason;',
      },
    ],
  },
  {
    name: 'foreign-row-stops-all',
    what: "a row that is not cronlease's counts as an outage of storage, and all jobs wait",
    mix: 'foreign',
    edits: [
      {
        file: 'coordinator/tick/read-and-decide.ts',
        in: 'readAndDecide',
        from: 'if (!(error instanceof ForeignMetadataError)) throw error;',
        to: "if (error instanceof ForeignMetadataError) throw new StoreUnavailableError('simulated', { cause: error });\n    else throw error;",
      },
      {
        file: 'coordinator/tick/read-and-decide.ts',
        from: "import { troubled } from '../reachability';",
        to: "import { troubled } from '../reachability';\nimport { StoreUnavailableError } from '../../lease/store';",
      },
    ],
  },
  {
    name: 'deleted-row-begins-anew',
    what: 'a row that was deleted comes back with the tokens of a new job',
    mix: 'foreign',
    edits: [
      {
        file: 'core/lost-row.ts',
        in: 'rowAfterLoss',
        from: 'token: (token + claims) as Token,',
        to: 'token: (0 * (token + claims)) as Token,',
      },
    ],
  },
  {
    name: 'foreign-control-ignored',
    what: "a control that is not cronlease's counts as none",
    mix: 'people',
    edits: [
      {
        file: 'coordinator/decide-row.ts',
        in: 'decideRow',
        from: 'controlOf(seen.control);',
        to: "controlOf(seen.control?.metadata['pauses'] === 'of another program' ? undefined : seen.control);",
      },
    ],
  },
];
