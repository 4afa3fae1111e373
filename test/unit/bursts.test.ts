import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lookAheads } from '../../src/coordinator/tick/board';
import { ClaimRate } from '../../src/coordinator/tick/fire';
import { firstRenewal, leaseOverWait, longestWait } from '../../src/core/early-claim';
import { DATE_BEHIND_MS, marginOf } from '../../src/core/job';

const T = Date.UTC(2026, 0, 1);
const pace = { lookAheadMs: 5_000, mostMs: 34_000, perSecond: 50 };
const times = (count: number, at: number): number[] => Array.from({ length: count }, () => at);

describe('the look-ahead before a burst', () => {
  it('is the usual one where few are due', () => {
    const ahead = lookAheads(times(100, T), pace);
    expect(ahead(T)).toBe(5_000);
    expect(ahead(T + 60_000)).toBe(5_000);
  });

  it('grows with the number of due times, and with slower claims', () => {
    expect(lookAheads(times(1_000, T), pace)(T)).toBe(22_500);
    expect(lookAheads(times(500, T), { ...pace, perSecond: 25 })(T)).toBe(22_500);
    expect(lookAheads(times(5_000, T), pace)(T)).toBe(34_000);
  });

  it('leaves time for what is due right after', () => {
    const ahead = lookAheads([...times(250, T), ...times(500, T + 1_000)], pace);
    expect(ahead(T + 1_000)).toBe(12_500);
    // These must be over before the claims for the next second begin.
    expect(ahead(T)).toBe(2_500 + 9_000 + 5_000);
  });

  it('is never shorter than the usual one, nor longer than the longest', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 90_000 }), { maxLength: 400 }),
        fc.integer({ min: 1, max: 100 }),
        (due, perSecond) => {
          const ahead = lookAheads(due, { ...pace, perSecond });
          for (const at of due) {
            expect(ahead(at)).toBeGreaterThanOrEqual(pace.lookAheadMs);
            expect(ahead(at)).toBeLessThanOrEqual(pace.mostMs);
          }
        },
      ),
    );
  });
});

describe('the lease of an early claim', () => {
  it('covers every wait up to the longest one without a renewal', () => {
    for (const leaseMs of [15_000, 30_000, 60_000]) {
      for (let ahead = 5_000; ahead <= longestWait(60_000); ahead += 500) {
        const length = leaseOverWait(leaseMs, ahead, 60_000);
        expect(length % 1000).toBe(0);
        expect(length).toBeGreaterThanOrEqual(leaseMs);
        expect(length).toBeLessThanOrEqual(60_000);
        // The hand-over took a second.
        const trust = length - 1_000 - DATE_BEHIND_MS - marginOf(length);
        expect(firstRenewal(length, trust, ahead)).toBeGreaterThanOrEqual(ahead);
      }
    }
  });

  it('is renewed while trust is left, whatever the wait', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 15_000, max: 60_000 }),
        fc.integer({ min: 1, max: 60_000 }),
        fc.integer({ min: -3_600_000, max: 3_600_000 }),
        (leaseMs, trustMs, untilDueMs) => {
          const delay = firstRenewal(leaseMs, trustMs, untilDueMs);
          expect(delay).toBeGreaterThan(0);
          expect(trustMs - delay).toBeGreaterThanOrEqual(Math.min(trustMs / 2, leaseMs / 4));
        },
      ),
    );
  });

  it('is renewed after a third of it where nothing is waited for', () => {
    expect(firstRenewal(30_000, 25_000, 0)).toBe(10_000);
    expect(firstRenewal(30_000, 6_000, 0)).toBe(3_000);
  });
});

describe('the rate of claims', () => {
  it('follows what was measured over claims without a pause', () => {
    const rate = new ClaimRate(40);
    for (let claim = 0; claim <= 50; claim += 1) rate.handedOver(claim * 5);
    // 200 hand-overs every second are about 100 claims.
    expect(rate.perSecond).toBe(70);
  });

  it('is not measured over pauses', () => {
    const rate = new ClaimRate(40);
    for (let claim = 0; claim <= 500; claim += 1) rate.handedOver(claim * 1_500);
    expect(rate.perSecond).toBe(40);
  });
});
