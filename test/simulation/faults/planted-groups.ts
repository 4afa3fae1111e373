import type { Planted } from './planted';

const RULES = 'core/group.ts';
const DOOR = 'coordinator/group-door.ts';

/** Rules of groups of jobs, of which some run at once and the others wait. */
export const GROUP_FAULTS: readonly Planted[] = [
  {
    name: 'group-one-more',
    what: 'a group runs one more at once than it may',
    mix: 'groups',
    edits: [
      {
        file: RULES,
        in: 'enter',
        from: 'ahead < maxParallel - running.length',
        to: 'ahead <= maxParallel - running.length',
      },
    ],
  },
  {
    name: 'group-held-out',
    what: 'the place of a holder is given away although its lease is held',
    mix: 'groups',
    edits: [{ file: RULES, in: 'isOut', from: 'if (isHeld) return false;', to: '' }],
  },
  {
    name: 'group-broken-out',
    what: 'the place of a holder is given away as soon as its lease is broken',
    mix: 'groups',
    edits: [
      {
        file: DOOR,
        in: 'sightOf',
        from: "const isHeld = lease === 'leased' || lease === 'broken';",
        to: "const isHeld = lease === 'leased';",
      },
    ],
  },
  {
    name: 'group-dead-in',
    what: 'the place of a dead holder is never free',
    mix: 'groups',
    edits: [
      {
        file: RULES,
        in: 'isOut',
        from: "return row.phase !== 'fanning' || date >= (row.notBefore ?? Infinity);",
        to: 'return false;',
      },
    ],
  },
  {
    name: 'group-items-out',
    what: 'the place of a run is given away while its items are at work',
    mix: 'groups',
    edits: [
      {
        file: RULES,
        in: 'isOut',
        from: "return row.phase !== 'fanning' || date >= (row.notBefore ?? Infinity);",
        to: 'return true;',
      },
    ],
  },
  {
    name: 'group-place-left-at-plan',
    what: 'a run that fans out gives its place back after its plan',
    mix: 'groups',
    edits: [
      {
        file: 'coordinator/attempt/attempt.ts',
        in: 'underLease',
        from: 'keepsPlace = stage.items.length > 0;',
        to: 'keepsPlace = false;',
      },
    ],
  },
  {
    name: 'group-unordered',
    what: 'whoever waits and asks first gets the place, whatever the priorities and times',
    mix: 'groups',
    edits: [{ file: RULES, in: 'enter', from: 'inOrder(queue).findIndex', to: 'queue.findIndex' }],
  },
  {
    name: 'group-refused-write',
    what: 'a write of a group that is refused counts as made',
    mix: 'groups',
    edits: [
      {
        file: DOOR,
        in: 'write',
        from: 'isShared = true;\n        return false;',
        to: 'isShared = true;\n        return true;',
      },
    ],
  },
  {
    name: 'group-unread',
    what: 'a process in which runs wait for a group does not read it again',
    mix: 'groups',
    edits: [
      {
        file: 'coordinator/groups.ts',
        in: 'work',
        from: 'sleep(clock, wait, nudge',
        to: 'sleep(clock, 3_600_000, nudge',
      },
    ],
  },
  {
    name: 'group-rows-unread',
    what: 'the rows of those that are in the way are not read',
    mix: 'groups',
    edits: [{ file: DOOR, in: 'checkRows', from: 'members.length === 0 ||', to: 'members.length >= 0 ||' }],
  },
  {
    name: 'group-waiter-unpausable',
    what: 'a run that waited long for its group starts although its job was paused meanwhile',
    mix: 'groups',
    edits: [
      {
        file: 'coordinator/attempt/wait-for-slot.ts',
        in: 'waitForTurn',
        from: 'clock.monotonic() - since > CONTROL_AGE_MS;',
        to: 'false;',
      },
    ],
  },
  {
    name: 'group-impatient',
    what: 'a due time expires before it is known whether a place is free',
    mix: 'groups',
    edits: [
      {
        file: 'coordinator/attempt/wait-for-slot.ts',
        in: 'patienceFor',
        from: 'atMostMs: Math.min(window, host)',
        to: 'atMostMs: 0',
      },
    ],
  },
];
