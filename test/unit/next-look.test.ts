import { describe, expect, it } from 'vitest';
import type { Claim, Decision } from '../../src/core/decide/situation';
import type { NextLook } from '../../src/coordinator/tick/notes';
import { afterLook, clockCorrected, HOLD_BACK_MS, lookStarted, READY, SWEEP } from '../../src/coordinator/tick/notes';

const NOW = Date.UTC(2026, 0, 1);
const SECOND = 1_000;
const claim = (facts: Partial<Claim> = {}): Decision => ({ kind: 'claim', claim: facts as Claim });
const of = (isForeign: boolean) => ({ isForeign, now: NOW });

describe('the next look at a job', () => {
  it('comes when its due time may be claimed, for other deployments after a hold-back', () => {
    const decision: Decision = { kind: 'nothing', lookAt: NOW + SECOND };
    expect(afterLook(SWEEP, decision, of(false))).toEqual({ kind: 'rest', at: NOW + SECOND });
    expect(afterLook(SWEEP, decision, of(true))).toEqual({ kind: 'holdBack', until: NOW + SECOND + HOLD_BACK_MS });
    expect(afterLook(READY, { kind: 'nothing', lookAt: undefined }, of(true))).toEqual(SWEEP);
  });

  it('lets the incumbent claim at once, and others once they have held back', () => {
    expect(afterLook(SWEEP, claim(), of(false))).toEqual(READY);
    const held = afterLook(SWEEP, claim(), of(true));
    expect(held).toEqual({ kind: 'holdBack', until: NOW + HOLD_BACK_MS });
    expect(afterLook(held, claim(), { isForeign: true, now: NOW + HOLD_BACK_MS })).toEqual(READY);
    // It waited for its hub, or for its next fire: the incumbent has had its turn.
    for (const before of [READY, { kind: 'waitsForHub' } as const]) {
      expect(afterLook(before, claim(), of(true))).toEqual(READY);
    }
  });

  it('does not wait for a hold-back of a later due time', () => {
    const later: NextLook = { kind: 'holdBack', until: NOW + 60 * SECOND };
    expect(afterLook(later, claim(), of(true))).toEqual({ kind: 'holdBack', until: NOW + HOLD_BACK_MS });
  });

  it('lets the incumbent of silent items hold back', () => {
    expect(afterLook(SWEEP, claim({ isSilent: true }), of(true))).toEqual(READY);
    expect(afterLook(SWEEP, claim({ isSilent: true }), of(false))).toMatchObject({ kind: 'holdBack' });
  });

  it('comes ever more seldom while a row is held, and again soon once its due time is near', () => {
    let next: NextLook = SWEEP;
    const pauses: number[] = [];
    for (let look = 0; look < 7; look += 1) {
      next = afterLook(next, { kind: 'wait', until: 'tickEnds' }, of(false));
      if (next.kind === 'watch') pauses.push(next.at - NOW);
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000]);
    expect(afterLook(next, { kind: 'wait', until: NOW + 8 * SECOND }, of(false))).toEqual({
      ...{ kind: 'watch', at: NOW + SECOND, delayMs: 100 },
    });
  });

  it('that fails is tried again in the next step', () => {
    expect(lookStarted(SWEEP, NOW)).toEqual({ kind: 'rest', at: NOW });
    expect(lookStarted({ kind: 'rest', at: NOW + SECOND }, NOW)).toEqual({ kind: 'rest', at: NOW });
    const over: NextLook = { kind: 'holdBack', until: NOW - 1 };
    expect(lookStarted(over, NOW)).toBe(over);
  });

  it('is due at once after a correction of the clock, if it had a time', () => {
    expect(clockCorrected({ kind: 'holdBack', until: NOW })).toEqual({ kind: 'rest', at: 0 });
    expect(clockCorrected(SWEEP)).toBe(SWEEP);
    expect(clockCorrected({ kind: 'acting' })).toEqual({ kind: 'acting' });
  });
});
