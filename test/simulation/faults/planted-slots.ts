import type { Planted } from './planted';

const SLOTS = 'coordinator/slots.ts';
const WAIT = 'coordinator/attempt/wait-for-slot.ts';

/** Rules of instances that run few handlers at once. */
export const SLOT_FAULTS: readonly Planted[] = [
  {
    name: 'slots-unlimited',
    what: 'an instance runs more handlers at once than it may',
    mix: 'slots',
    edits: [{ file: SLOTS, in: 'createSlots', from: 'let free = limit;', to: 'let free = limit + 1;' }],
  },
  {
    name: 'slot-for-nobody',
    what: 'an attempt that ended while it waited for a slot stays in the queue, and gets it',
    mix: 'slots',
    edits: [{ file: SLOTS, in: 'leave', from: 'remove();', to: '' }],
  },
  {
    name: 'slot-not-given-back',
    what: 'an attempt that got a slot and calls no handler keeps the slot',
    mix: 'slots',
    edits: [
      {
        file: 'coordinator/attempt/run-handler.ts',
        in: 'runHandler',
        from: '} finally {\n    slot?.giveBack();\n  }',
        to: '} finally {\n  }',
      },
    ],
  },
  {
    name: 'slot-waiter-unpausable',
    what: 'a run that waited long for a slot starts although its job was paused meanwhile',
    mix: 'slots',
    edits: [
      {
        file: WAIT,
        in: 'waitForTurn',
        from: 'isLong && (await isPausedMeanwhile(held, waiter));',
        to: 'false;',
      },
    ],
  },
];
