import type { Planted } from './planted';

/** Rules of what was handed over and not claimed. */
export const HAND_OVER_FAULTS: readonly Planted[] = [
  {
    name: 'late-kept',
    what: 'a late hand-over is not given back',
    mix: 'draining',
    edits: [
      {
        file: 'coordinator/tick/hub-watch.ts',
        in: 'isLate',
        from: "if (handOver.lease !== 'available' || givenBack.get(name)?.turn === handOver.turn) return;",
        to: 'return;',
      },
    ],
  },
  {
    name: 'drain-keeps',
    what: 'a shutdown gives nothing back',
    mix: 'draining',
    edits: [
      {
        file: 'coordinator/drain.ts',
        in: 'drain',
        from: 'const givenBack = [...releases, giveBackAll(coordinator), ticksOver.then(() => giveBackAll(coordinator))];',
        to: 'const givenBack = [ticksOver];',
      },
    ],
  },
  {
    name: 'drain-ends-early',
    what: 'a shutdown ends before the releases of its hand-overs are sent',
    mix: 'draining',
    edits: [
      {
        file: 'coordinator/drain.ts',
        in: 'drain',
        from: 'if (isIdle) return;',
        to: '',
      },
      {
        file: 'coordinator/drain.ts',
        in: 'drain',
        from: 'const goingOn = [...running, ...ticks].map(({ done }) => done);',
        to: 'const goingOn = [...running, ...ticks].map(({ done }) => done); if (goingOn.length === 0 && coordinator.handOvers.size === 0) return;',
      },
    ],
  },
  {
    name: 'hand-over-untimed',
    what: 'only ticks look after a hand-over: in drain mode none follows',
    mix: 'draining',
    edits: [
      {
        file: 'coordinator/tick/hub-watch.ts',
        in: 'handedOver',
        from: 'if (handOver !== undefined) {',
        to: 'if (false) {',
      },
    ],
  },
  {
    name: 'given-back-whatever',
    what: 'a hand-over is released whether its claim was made or not',
    mix: 'draining',
    edits: [
      {
        file: 'coordinator/give-back.ts',
        in: 'giveBack',
        from: '{ ifMatch: handOver.etag, signal }',
        to: '{ signal }',
      },
    ],
  },
  {
    name: 'expired-given-back',
    what: 'an expired row that was handed over is given back',
    mix: 'kills',
    edits: [
      { file: 'coordinator/give-back.ts', in: 'giveBack', from: "if (handOver.lease !== 'available') return;", to: '' },
      {
        file: 'coordinator/tick/hub-watch.ts',
        in: 'isLate',
        from: "if (handOver.lease !== 'available' || givenBack",
        to: 'if (givenBack',
      },
    ],
  },
  {
    name: 'given-back-for-ever',
    what: 'a late hand-over is given back each time, and claimed again at once',
    mix: 'slowHub',
    edits: [
      {
        file: 'coordinator/tick/hub-watch.ts',
        in: 'isLate',
        from: "if (handOver.lease !== 'available' || givenBack.get(name)?.turn === handOver.turn) return;",
        to: "if (handOver.lease !== 'available') return;",
      },
      {
        file: 'coordinator/tick/hub-watch.ts',
        in: 'isLeft',
        from: 'return last?.turn === turn && clock.monotonic() - last.at < leaseMs;',
        to: 'return false;',
      },
    ],
  },
  {
    name: 'given-back-unclaimable',
    what: 'an attempt whose lease was given back does not acquire it anew',
    mix: 'slowHub',
    edits: [
      {
        file: 'coordinator/attempt/claim.ts',
        in: 'isFresh',
        from: 'Math.min(FRESH_MS, input.leaseMs * FRESH_SHARE)',
        to: 'input.leaseMs * FRESH_SHARE',
      },
      {
        file: 'coordinator/attempt/claim.ts',
        in: 'claimAttempt',
        from: "if (claimed === undefined && input.kind === 'handedOver') {",
        to: 'if (false) {',
      },
    ],
  },
  {
    name: 'late-not-decided-anew',
    what: 'a hand-over that the task hub has kept for an hour is claimed as it was decided',
    mix: 'nights',
    edits: [
      {
        file: 'coordinator/attempt/claim.ts',
        in: 'takeLease',
        from: "if (input.what === 'first') {",
        to: "if (input.what === 'first' && remaining() < 0) {",
      },
    ],
  },
];
