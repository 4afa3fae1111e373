import {
  always,
  argument,
  become,
  branch,
  call,
  drop,
  last,
  never,
  operand,
  operation,
  operator,
  returned,
  value,
} from './edit';
import type { Planted } from './planted';

/** Rules of groups of jobs, of which some run at once and the others wait. */
export const GROUP_FAULTS: readonly Planted[] = [
  {
    name: 'group-one-more',
    what: 'a group runs one more at once than it may',
    mix: 'groups',
    edits: [operator('core/group.ts:enter', operation('<', 'ahead'), '<=')],
  },
  {
    name: 'group-held-out',
    what: 'the place of a holder is given away although its lease is held',
    mix: 'groups',
    edits: [drop('core/group.ts:isOut', branch('isHeld'))],
  },
  {
    name: 'group-broken-out',
    what: 'the place of a holder is given away as soon as its lease is broken',
    mix: 'groups',
    edits: [drop('coordinator/groups.ts:sightOf', operand('broken'))],
  },
  {
    name: 'group-dead-in',
    what: 'the place of a dead holder is never free',
    mix: 'groups',
    edits: [never('core/group.ts:isOut', operation('||'))],
  },
  {
    name: 'group-items-out',
    what: 'the place of a run is given away while its items are at work',
    mix: 'groups',
    edits: [always('core/group.ts:isOut', operation('||'))],
  },
  {
    name: 'group-place-left-at-plan',
    what: 'a run that fans out gives its place back after its plan',
    mix: 'groups',
    edits: [never('coordinator/attempt/attempt.ts:underLease', last(value('keepsPlace')))],
  },
  {
    name: 'group-unordered',
    what: 'whoever waits and asks first gets the place, whatever the priorities and times',
    mix: 'groups',
    edits: [become('core/group.ts:enter', call('inOrder'), 'queue')],
  },
  {
    name: 'group-refused-write',
    what: 'a write of a group that is refused counts as made',
    mix: 'groups',
    edits: [become('coordinator/groups.ts:write', returned('false'), 'true')],
  },
  {
    name: 'group-unread',
    what: 'a process in which runs wait for a group does not read it again',
    mix: 'groups',
    edits: [become('coordinator/groups.ts:work', argument('sleep', 1), '3_600_000')],
  },
  {
    name: 'group-rows-unread',
    what: 'the rows of those that are in the way are not read',
    mix: 'groups',
    edits: [operator('coordinator/groups.ts:checkRows', operation('==='), '>=')],
  },
  {
    name: 'group-waiter-unpausable',
    what: 'a run that waited long for its group starts although its job was paused meanwhile',
    mix: 'groups',
    edits: [never('coordinator/attempt/waits.ts:waitForTurn', operation('>'))],
  },
  {
    name: 'group-impatient',
    what: 'a due time expires before it is known whether a place is free',
    mix: 'groups',
    edits: [become('coordinator/attempt/waits.ts:patienceFor', call('min'), '0')],
  },
];
