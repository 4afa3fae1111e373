import type { Planted } from './planted';

/** Rules of trust, renewal, fence and handler. */
export const TRUST_FAULTS: readonly Planted[] = [
  {
    name: 'proof-is-the-end',
    what: 'a renewal counts from its end, not from its start',
    edits: [
      {
        file: 'lease/keep-alive.ts',
        in: 'renew',
        from: 'trust.extend(start, length)',
        to: 'trust.extend(moment(clock), length)',
      },
    ],
  },
  {
    name: 'unrenewed-wait',
    what: 'the lease of an early claim is first renewed after the start, however little trust is left',
    mix: 'wide',
    edits: [
      {
        file: 'core/early-claim.ts',
        in: 'firstRenewal',
        from: 'return Math.min(wanted, Math.max(trustMs / 2, trustMs - leaseMs / 4));',
        to: 'return wanted;',
      },
      {
        file: 'core/early-claim.ts',
        in: 'leaseOverWait',
        from: 'return Math.min(mostLeaseMs, Math.max(leaseMs, needed));',
        to: 'return leaseMs;',
      },
    ],
  },
  {
    name: 'no-margin',
    what: 'no margin at the end of a lease',
    edits: [{ file: 'core/job.ts', in: 'marginOf', from: 'return Math.max(2000, leaseMs / 10);', to: 'return 0;' }],
  },
  {
    name: 'dates-agree',
    what: 'nothing off the first trust for two Dates that disagree',
    mix: 'wide',
    edits: [
      {
        file: 'coordinator/attempt/claim.ts',
        in: 'trustFrom',
        from: 'leaseMs - (date - acquiredAt) - DATE_BEHIND_MS',
        to: 'leaseMs - (date - acquiredAt)',
      },
      {
        file: 'coordinator/attempt/claim.ts',
        in: 'trustFrom',
        from: 'Math.min(leftMs, leaseMs - between(since, sent))',
        to: '(void between(since, sent), leftMs)',
      },
    ],
  },
  {
    name: 'first-trust-from-claim',
    what: 'the first trust counts from the claim, not from the acquisition',
    edits: [
      {
        file: 'coordinator/attempt/claim.ts',
        in: 'trustFrom',
        from: 'leaseMs - (date - acquiredAt) - DATE_BEHIND_MS',
        to: 'leaseMs - DATE_BEHIND_MS',
      },
      {
        file: 'coordinator/attempt/claim.ts',
        in: 'momentOf',
        from: 'const age = Math.max(0, serviceTime.now() - date);',
        to: 'const age = 0 * (serviceTime.now() - date);',
      },
    ],
  },
  {
    name: 'monotonic-only',
    what: 'trust is measured by the monotonic clock only',
    edits: [
      {
        file: 'lease/trust.ts',
        in: 'between',
        from: 'return Math.max(end.wall - start.wall, end.monotonic - start.monotonic);',
        to: 'return end.monotonic - start.monotonic;',
      },
    ],
  },
  {
    name: 'no-look-before-handler',
    what: 'trust is not checked before the handler is called',
    edits: [
      {
        file: 'coordinator/attempt/run-handler.ts',
        in: 'runHandler',
        from: "if (!held.trust.holds) aborter.abort('leaseLost', 'leaseLost', 'the lease ran out before",
        to: "if (!held.trust.holds && false) aborter.abort('leaseLost', 'leaseLost', 'the lease ran out before",
      },
      { file: 'coordinator/attempt/call-handler.ts', in: 'callHandler', from: 'fence.check();', to: '' },
    ],
  },
  {
    name: 'gather-reads-late',
    mix: 'fans',
    what: 'a fan-out reads its results between the look at the trust and the gathering, and believes late answers',
    edits: [
      {
        file: 'coordinator/attempt/fan-out.ts',
        in: 'stageOf',
        from: 'const outcomes = await readOutcomes(held, plan);',
        to: '',
      },
      {
        file: 'coordinator/attempt/fan-out.ts',
        in: 'stageOf',
        from: 'const handlerCall = await call((context) => handler.gather(context, outcomes as never, input));',
        to: 'const handlerCall = await call(async (context) => handler.gather(context, (await readOutcomes(held, plan)) as never, input));',
      },
      {
        file: 'coordinator/attempt/fan-out.ts',
        in: 'asking',
        from: "if (!trust.holds) throw new StoreUnavailableError('storage answered after",
        to: "if (!trust.holds && false) throw new StoreUnavailableError('storage answered after",
      },
    ],
  },
  {
    name: 'handler-before-due',
    what: 'the handler is called when its claim is made, before its due time',
    edits: [
      {
        file: 'coordinator/attempt/run-handler.ts',
        in: 'runHandler',
        from: 'await waitForDue(held, due, signal, attempted.onControl);',
        to: 'false; void due;',
      },
    ],
  },
  {
    name: 'fence-open-at-settle',
    what: 'the fence is not closed before the run is settled',
    edits: [
      {
        file: 'coordinator/attempt/attempt.ts',
        in: 'underLease',
        from: 'fence.close();\n    keepsPlace = stage.items.length > 0;',
        to: 'keepsPlace = stage.items.length > 0;',
      },
    ],
  },
  {
    name: 'foreign-renewal-believed',
    what: "a renewal is believed whatever lease id the service answers with, the holder's or not",
    edits: [
      {
        file: 'stores/memory/rows.ts',
        in: 'renew',
        from: "if (row === undefined || lease === undefined) return 'lost';",
        to: "if (row === undefined) return 'lost';\n      if (lease === undefined) return 'renewed';",
      },
    ],
  },
  {
    name: 'broken-is-expired',
    what: 'a broken lease counts as expired',
    edits: [
      {
        file: 'coordinator/decide-row.ts',
        in: 'leaseOf',
        from: 'return !isEnding && seenFor >=',
        to: 'return !isEnding || seenFor >=',
      },
    ],
  },
  {
    name: 'cancelled-calls-handler',
    what: 'a claim that is to end a waiting run calls its handler',
    edits: [
      {
        file: 'coordinator/attempt/attempt.ts',
        in: 'underLease',
        from: 'const isOver = end !== null && ',
        to: 'const isOver = end !== null && false && ',
      },
    ],
  },
];
