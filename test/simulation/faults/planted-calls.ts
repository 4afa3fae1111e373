import { argument, become, branch, call, drop, last, value } from './edit';
import type { Planted } from './planted';

/** Rules of jobs that are calls: the operation that a later attempt must find. */
export const CALL_JOB_FAULTS: readonly Planted[] = [
  {
    name: 'kept-oldest-counts',
    mix: 'calls',
    what: 'of the pieces that a call has kept, the oldest counts',
    edits: [become('coordinator/attempt/perform.ts:keptBy', argument('at', 0), '0')],
  },
  {
    name: 'kept-without-token',
    mix: 'calls',
    what: 'the pieces of a call are named without the token of their claim',
    edits: [become('coordinator/attempt/perform.ts:keptBy', value('name'), 'keptPiece(0, written)')],
  },
  {
    name: 'kept-not-read',
    mix: 'calls',
    what: 'a later attempt does not look for the operation of an earlier one',
    edits: [become('call/call.ts:callOrContinue', value('text'), 'undefined')],
  },
  {
    name: 'failed-stays-kept',
    mix: 'calls',
    what: 'an operation that failed stays kept, so that the retry polls it again',
    edits: [become('call/call.ts:follow', call('keep', 'kept'), 'undefined')],
  },
  {
    name: 'ended-stays-kept',
    mix: 'calls',
    what: 'an operation that is ended stays kept, so that the next attempt polls it',
    edits: [drop('call/call.ts:abandon', call('keep'))],
  },
  {
    name: 'shutdown-ends-operation',
    mix: 'calls',
    what: 'a shutdown ends the operation that another instance is to poll on',
    edits: [drop('call/call.ts:abandon', branch('code'))],
  },
  {
    name: 'ended-after-grace',
    mix: 'calls',
    what: 'an operation is ended although the grace of its job is over, and a successor may poll it',
    edits: [drop('call/call.ts:abandon', last(call('check')))],
  },
  {
    name: 'called-after-standstill',
    mix: 'calls',
    what: 'a process that stood still while it got its token calls without trust in its lease',
    edits: [drop('call/call.ts:callOrContinue', call('check'))],
  },
];
