import { become, call, drop, last, never, operation, value } from './edit';
import type { Planted } from './planted';

/** Rules of instances that run few handlers at once. */
export const SLOT_FAULTS: readonly Planted[] = [
  {
    name: 'slots-unlimited',
    what: 'an instance runs more handlers at once than it may',
    mix: 'slots',
    edits: [become('coordinator/slots.ts:createSlots', value('free', 'limit'), '$ + 1')],
  },
  {
    name: 'slot-for-nobody',
    what: 'an attempt that ended while it waited for a slot stays in the queue, and gets it',
    mix: 'slots',
    edits: [drop('coordinator/slots.ts:leave', call('remove'))],
  },
  {
    name: 'slot-not-given-back',
    what: 'an attempt that got a slot and calls no handler keeps the slot',
    mix: 'slots',
    edits: [drop('coordinator/attempt/run-handler.ts:runHandler', last(call('giveBack')))],
  },
  {
    name: 'slot-waiter-unpausable',
    what: 'a run that waited long for a slot starts although its job was paused meanwhile',
    mix: 'slots',
    edits: [never('coordinator/attempt/wait-for-slot.ts:waitForTurn', operation('&&'))],
  },
];
