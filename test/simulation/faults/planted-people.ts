import type { Planted } from './planted';

/** Rules for what people do. */
export const PEOPLE_FAULTS: readonly Planted[] = [
  {
    name: 'own-write-unknown',
    what: 'a command does not know its own write again where that is said to be refused',
    mix: 'people',
    edits: [
      {
        file: 'operator/change-control.ts',
        from: 'return await isWritten(store, job, metadata, options);',
        to: 'return false;',
      },
      { file: 'operator/request.ts', from: 'if (own !== undefined)', to: 'if (false && own !== undefined)' },
    ],
  },
  {
    name: 'excuse-dropped',
    what: 'a control write drops the ended pause of a job without due times, and so its excuse',
    mix: 'hubs',
    edits: [
      {
        file: 'operator/change-control.ts',
        from: 'stillCounts(pause, row, spec) || excuses(pause, control, row, spec)',
        to: 'stillCounts(pause, row, spec) || (excuses(pause, control, row, spec) && false)',
      },
    ],
  },
  {
    name: 'foreign-control-ignored',
    what: "a control that is not cronlease's counts as none",
    mix: 'people',
    edits: [
      {
        file: 'coordinator/tick/look.ts',
        from: 'control: seen.control === undefined ?',
        to: "control: seen.control === undefined || seen.control.metadata['pauses'] === 'of another program' ?",
      },
    ],
  },
];
