import { always, argument, become, call, drop, first, never, operation, operator, returned, test, value } from './edit';
import type { Planted } from './planted';

/** Rules of trust, renewal, fence and handler. */
export const TRUST_FAULTS: readonly Planted[] = [
  {
    name: 'proof-is-the-end',
    what: 'a renewal counts from its end, not from its start',
    edits: [become('lease/keep-alive.ts:renew', argument('renewed', 0), 'moment(clock)')],
  },
  {
    name: 'unrenewed-wait',
    what: 'the lease of an early claim is first renewed after the start, however little trust is left',
    mix: 'wide',
    edits: [
      become('core/early-claim.ts:firstRenewal', call('min'), 'wanted'),
      become('core/early-claim.ts:leaseOverWait', call('min'), 'leaseMs'),
    ],
  },
  {
    name: 'no-margin',
    what: 'no margin at the end of a lease',
    edits: [become('core/job.ts:marginOf', call('max'), '0')],
  },
  {
    name: 'dates-agree',
    what: 'nothing off the first trust for two Dates that disagree',
    mix: 'wide',
    edits: [
      become(
        'coordinator/attempt/claim.ts:trustFrom',
        operation('-', 'DATE_BEHIND_MS'),
        'leaseMs - (date - acquiredAt)',
      ),
      become('coordinator/attempt/claim.ts:trustFrom', call('min'), 'leftMs'),
    ],
  },
  {
    name: 'first-trust-from-claim',
    what: 'the first trust counts from the claim, not from the acquisition',
    mix: 'loss',
    edits: [
      become('coordinator/attempt/claim.ts:trustFrom', operation('-', 'DATE_BEHIND_MS'), 'leaseMs - DATE_BEHIND_MS'),
      become('coordinator/attempt/claim.ts:momentOf', value('age'), '0'),
    ],
  },
  {
    name: 'monotonic-only',
    what: 'trust is measured by the monotonic clock only',
    edits: [become('lease/trust.ts:between', call('max'), 'end.monotonic - start.monotonic')],
  },
  {
    name: 'no-look-before-handler',
    what: 'trust is not checked before the handler is called',
    edits: [
      never('coordinator/attempt/run-handler.ts:runHandler', test('trust')),
      drop('coordinator/attempt/call-handler.ts:callHandler', call('check')),
    ],
  },
  {
    name: 'gather-reads-late',
    mix: 'fans',
    what: 'a fan-out reads its results between the look at the trust and the gathering, and believes late answers',
    edits: [
      become('coordinator/attempt/fan-out.ts:stageOf', call('readOutcomes'), 'undefined'),
      become(
        'coordinator/attempt/fan-out.ts:stageOf',
        argument('runHandler', 1, 'outcomes'),
        'async (context) => handler.gather(context, (await readOutcomes(held, plan)) as never, input)',
      ),
      never('coordinator/attempt/fan-out.ts:asking', test()),
    ],
  },
  {
    name: 'handler-before-due',
    what: 'the handler is called when its claim is made, before its due time',
    edits: [become('coordinator/attempt/run-handler.ts:runHandler', call('waitForDue'), 'false')],
  },
  {
    name: 'fence-open-at-settle',
    what: 'the fence is not closed before the run is settled',
    edits: [drop('coordinator/attempt/attempt.ts:underLease', first(call('close')))],
  },
  {
    name: 'foreign-renewal-believed',
    what: "a renewal is believed whatever lease id the service answers with, the holder's or not",
    edits: [become('stores/lease-automaton.ts:renew', returned('done'), 'true')],
  },
  {
    name: 'broken-is-expired',
    what: 'a broken lease counts as expired',
    edits: [operator('coordinator/decide-row.ts:leaseOf', operation('&&'), '||')],
  },
  {
    name: 'cancelled-calls-handler',
    what: 'a claim that is to end a waiting run calls its handler',
    edits: [never('coordinator/attempt/attempt.ts:underLease', value('isOver', 'end'))],
  },
  {
    name: 'refused-growth-believed',
    what: 'a lease counts as longer although the service has refused that',
    edits: [always('lease/keep-alive.ts:grow', test('kind'))],
  },
  {
    name: 'unanswered-growth-believed',
    what: 'a lease counts as longer although the call for that was lost',
    mix: 'loss',
    edits: [become('lease/keep-alive.ts:grow', call('acquire'), "$.catch(() => ({ kind: 'acquired' }))")],
  },
  {
    name: 'late-growth-unguarded',
    what: 'a row is released although a call for a longer lease may still arrive',
    mix: 'loss',
    edits: [never('coordinator/held.ts:release', test('mayGrowLate'))],
  },
  {
    name: 'claim-trusted-as-grown',
    what: "the first trust counts with the job's own lease, which the first renewal would set",
    edits: [become('coordinator/attempt/claim.ts:claimAttempt', value('leaseMs', 'claimLease'), 'job.spec.leaseMs')],
  },
];
