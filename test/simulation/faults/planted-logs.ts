import type { Planted } from './planted';

/** Rules for the logs of runs. */
export const LOG_FAULTS: readonly Planted[] = [
  {
    name: 'log-given-up',
    what: 'lines whose append failed are not sent again',
    mix: 'loss',
    edits: [
      {
        file: 'coordinator/attempt/log-writer.ts',
        in: 'createLogWriter',
        from: 'problem = error;',
        to: 'problem = error; batch = undefined;',
      },
    ],
  },
  {
    name: 'log-moved',
    what: 'an append that failed is sent again behind what it may have written',
    mix: 'loss',
    edits: [
      {
        file: 'coordinator/attempt/log-writer.ts',
        in: 'createLogWriter',
        from: 'problem = error;',
        to: 'problem = error; if (batch !== undefined && isCreated) bytes += batch.text.length;',
      },
    ],
  },
  {
    name: 'log-shown-twice',
    what: 'lines of the record are shown although the log has them',
    mix: 'loss',
    edits: [
      {
        file: 'operator/read-log.ts',
        in: 'after',
        from: 'entry.n > line) return entry;',
        to: 'entry.n > 0) return entry;',
      },
    ],
  },
];
