import { always, become, branch, call, drop, first, operand, operation, value } from './edit';
import type { Planted } from './planted';

/** Rules of runs that fan out: plan, items, gathering. */
export const FAN_OUT_FAULTS: readonly Planted[] = [
  {
    name: 'item-trusts-deadline',
    mix: 'fans',
    what: 'one look lets an item trust up to the deadline',
    edits: [become('coordinator/attempt/item-check.ts:checkItem', call('min'), 'left')],
  },
  {
    name: 'done-items-time-out',
    mix: 'fans',
    what: 'with its attempts used up, a run ends at the deadline of its items without a look whether they are done',
    edits: [drop('coordinator/attempt/attempt.ts:underLease', operand('outcome', 'waitsForOthers'))],
  },
  {
    name: 'silence-ignored',
    mix: 'fans',
    what: 'a run whose items are silent is not resumed before their deadline',
    edits: [drop('core/decide/unfinished.ts:decideUnfinished', first(branch('fanning')))],
  },
  {
    name: 'silence-too-short',
    mix: 'fans',
    what: 'a run is claimed after its items were silent for 15 s, and not 45 s',
    edits: [become('core/fan-out.ts:SILENT_AFTER_MS', value('SILENT_AFTER_MS'), '15_000')],
  },
  {
    name: 'silence-not-asked-again',
    mix: 'fans',
    what: 'the silence of the items is not checked again under the lease',
    edits: [always('coordinator/run-pieces.ts:itemsAreSilent', call('isSilent'))],
  },
  {
    name: 'held-row-trusted',
    mix: 'fans+pauses',
    what: 'an item trusts although another instance holds its row',
    edits: [drop('coordinator/attempt/item-check.ts:checkItem', branch('lease'))],
  },
  {
    name: 'items-do-not-beat',
    mix: 'fans',
    what: 'items trust without a beat of their process',
    edits: [
      become('coordinator/attempt/item-check.ts:checkItem', call('beat'), '{ at: moment(clock), isFirst: false }'),
    ],
  },
  {
    name: 'left-before-items-end',
    mix: 'fans',
    what: 'an instance that is shut down ends its heartbeat before its items have ended',
    edits: [drop('coordinator/drain.ts:leave', first(call('allSettled')))],
  },
  {
    name: 'handed-on-from-others',
    mix: 'fans',
    what: 'an instance that is shut down hands a run on although others work on its items',
    edits: [always('core/fan-out.ts:nobodyBeats', operation('||'))],
  },
  {
    name: 'left-items-begin',
    mix: 'fans',
    what: 'an item begins although its run was handed on',
    edits: [drop('coordinator/run-pieces.ts:isLeftToItems', operand('itemsLeftAt'))],
  },
  {
    name: 'own-beats-unseen',
    mix: 'fans',
    what: 'the heartbeats of processes do not count, only what one that was shut down left behind',
    edits: [drop('core/fan-out.ts:newestBeat', operand('isOfProcess'))],
  },
  {
    name: 'nothing-left-behind',
    mix: 'fans',
    what: 'an instance that is shut down leaves nothing behind by which the silence of its run could be seen',
    edits: [drop('coordinator/run-pieces.ts:leaveBeats', first(call('within')))],
  },
];
