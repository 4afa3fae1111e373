import { become, call, drop, last, never, operation, value } from './edit';
import type { Planted } from './planted';

/** Rules of instances that run few handlers at once. */
export const CONCURRENCY_FAULTS: readonly Planted[] = [
  {
    name: 'concurrency-unlimited',
    what: 'an instance runs more handlers at once than it may',
    mix: 'concurrency',
    edits: [become('coordinator/concurrency-limit.ts:createConcurrencyLimit', value('free', 'limit'), '$ + 1')],
  },
  {
    name: 'permit-for-nobody',
    what: 'an attempt that ended while it waited for a permit stays in the queue, and gets it',
    mix: 'concurrency',
    edits: [drop('coordinator/concurrency-limit.ts:leave', call('remove'))],
  },
  {
    name: 'permit-not-given-back',
    what: 'an attempt that got a permit and calls no handler keeps the permit',
    mix: 'concurrency',
    edits: [drop('coordinator/attempt/run-handler.ts:runHandler', last(call('giveBack')))],
  },
  {
    name: 'permit-waiter-unpausable',
    what: 'a run that waited long for a permit starts although its job was paused meanwhile',
    mix: 'concurrency',
    edits: [never('coordinator/attempt/waits.ts:waitForTurn', operation('&&'))],
  },
];
