import { become, behind, operand, value } from './edit';
import type { Planted } from './planted';

/** Rules for the logs of runs. */
export const LOG_FAULTS: readonly Planted[] = [
  {
    name: 'log-given-up',
    what: 'lines whose append failed are not sent again',
    mix: 'loss',
    edits: [behind('coordinator/attempt/attempt-log.ts:write', value('problem', 'error'), 'this.#batch = undefined;')],
  },
  {
    name: 'log-moved',
    what: 'an append that failed is sent again behind what it may have written',
    mix: 'loss',
    edits: [
      behind(
        'coordinator/attempt/attempt-log.ts:write',
        value('problem', 'error'),
        'if (this.#batch !== undefined && this.#isCreated) this.#bytes += this.#batch.text.length;',
      ),
    ],
  },
  {
    name: 'log-shown-twice',
    what: 'lines of the record are shown although the log has them',
    mix: 'loss',
    edits: [become('operator/views/read-log.ts:after', operand('n'), 'entry.n > 0')],
  },
];
