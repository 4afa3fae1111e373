import {
  always,
  argument,
  become,
  before,
  branch,
  call,
  drop,
  never,
  operand,
  operation,
  returned,
  test,
  value,
} from './edit';
import type { Planted } from './planted';

/** Rules of what was handed over and not claimed. */
export const HAND_OVER_FAULTS: readonly Planted[] = [
  {
    name: 'one-batch-id',
    what: 'claims that are handed over together use the orchestration id of the last ones',
    edits: [become('coordinator/tick/batches.ts:startAll', call('newId'), "''")],
  },
  {
    name: 'batch-leaves-one-out',
    what: 'a batch leaves its last claim out',
    edits: [become('coordinator/tick/batches.ts:startAll', argument('dealt', 0), '$.slice(0, -1)')],
  },
  {
    name: 'batch-not-continued',
    what: 'a run of a batch that is not over is left to the ticks',
    edits: [become('coordinator/attempt/together.ts:runOne', call('withinHub'), 'Promise.resolve()')],
  },
  {
    name: 'late-kept',
    what: 'a late hand-over is not given back',
    mix: 'draining',
    edits: [always('coordinator/tick/hub-watch.ts:isLate', test())],
  },
  {
    name: 'drain-keeps',
    what: 'a shutdown gives nothing back',
    mix: 'draining',
    edits: [become('coordinator/drain.ts:drain', value('givenBack'), '[ticksOver]')],
  },
  {
    name: 'drain-ends-early',
    what: 'a shutdown ends before the releases of its hand-overs are sent',
    mix: 'draining',
    edits: [
      drop('coordinator/drain.ts:drain', branch()),
      before(
        'coordinator/drain.ts:drain',
        call('AbortController'),
        'if (goingOn.length === 0 && coordinator.handOvers.count === 0) return;',
      ),
    ],
  },
  {
    name: 'hand-over-untimed',
    what: 'only ticks look after a hand-over: in drain mode none follows',
    mix: 'draining',
    edits: [always('coordinator/tick/hub-watch.ts:handedOver', test())],
  },
  {
    name: 'given-back-whatever',
    what: 'a hand-over is released whether its claim was made or not',
    mix: 'draining',
    edits: [become('coordinator/drain.ts:giveBack', argument('release', 2), '{ ...handOver, etag: undefined }')],
  },
  {
    name: 'expired-given-back',
    what: 'an expired row that was handed over is given back',
    mix: 'kills',
    edits: [
      drop('coordinator/drain.ts:giveBack', branch()),
      drop('coordinator/tick/hub-watch.ts:isLate', operation('!==')),
    ],
  },
  {
    name: 'given-back-for-ever',
    what: 'a late hand-over is given back each time, and claimed again at once',
    mix: 'slowHub',
    edits: [
      drop('coordinator/tick/hub-watch.ts:isLate', operand('keeps')),
      never('coordinator/tick/hub-watch.ts:isLeft', returned()),
    ],
  },
  {
    name: 'given-back-unclaimable',
    what: 'an attempt whose lease was given back does not acquire it again',
    mix: 'slowHub',
    edits: [
      become('coordinator/attempt/claim.ts:isFresh', call('min'), 'input.leaseMs * FRESH_SHARE'),
      never('coordinator/attempt/claim.ts:claimAttempt', operation('&&')),
    ],
  },
  {
    name: 'late-not-decided-anew',
    what: 'a hand-over that the task hub has kept for an hour is claimed as it was decided',
    mix: 'nights',
    edits: [become('coordinator/attempt/claim.ts:takeLease', test('what'), '$ && remaining() < 0')],
  },
];
