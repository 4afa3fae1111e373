import { describe, expect, it } from 'vitest';
import type { ETag, LeaseId } from '../../src/core/brand';
import type { Claim, Decision } from '../../src/core/decide/situation';
import {
  HOLD_BACK_MS,
  type JobNotes,
  NEW_NOTES,
  type NextCheck,
  READY,
  SWEEP,
  after,
  afterCheck,
  checkStarted,
  checkTime,
  clockCorrected,
  requiredMoved,
} from '../../src/coordinator/tick/notes';

const NOW = Date.UTC(2026, 0, 1);
const SECOND = 1_000;
const claim = (facts: Partial<Claim> = {}): Decision => ({ kind: 'claim', claim: facts as Claim });
const of = (isForeign: boolean) => ({ isForeign, now: NOW });

describe('the next check of a job', () => {
  it('comes when its due time may be claimed, for other deployments after a hold-back', () => {
    const decision: Decision = { kind: 'nothing', checkAt: NOW + SECOND };
    expect(afterCheck(SWEEP, decision, of(false))).toEqual({ kind: 'rest', at: NOW + SECOND });
    expect(afterCheck(SWEEP, decision, of(true))).toEqual({ kind: 'holdBack', until: NOW + SECOND + HOLD_BACK_MS });
    expect(afterCheck(READY, { kind: 'nothing', checkAt: undefined }, of(true))).toEqual(SWEEP);
  });

  it('lets the incumbent claim at once, and others once they have held back', () => {
    expect(afterCheck(SWEEP, claim(), of(false))).toEqual(READY);
    const held = afterCheck(SWEEP, claim(), of(true));
    expect(held).toEqual({ kind: 'holdBack', until: NOW + HOLD_BACK_MS });
    expect(afterCheck(held, claim(), { isForeign: true, now: NOW + HOLD_BACK_MS })).toEqual(READY);
    // It waited for its hub, or for its next fire: the incumbent has had its turn.
    for (const before of [READY, { kind: 'waitsForHub' } as const]) {
      expect(afterCheck(before, claim(), of(true))).toEqual(READY);
    }
  });

  it('does not wait for a hold-back of a later due time', () => {
    const later: NextCheck = { kind: 'holdBack', until: NOW + 60 * SECOND };
    expect(afterCheck(later, claim(), of(true))).toEqual({ kind: 'holdBack', until: NOW + HOLD_BACK_MS });
  });

  it('lets the incumbent of silent items hold back', () => {
    expect(afterCheck(SWEEP, claim({ isSilent: true }), of(true))).toEqual(READY);
    expect(afterCheck(SWEEP, claim({ isSilent: true }), of(false))).toMatchObject({ kind: 'holdBack' });
  });

  it('comes ever more seldom while a row is held, and again soon once its due time is near', () => {
    let next: NextCheck = SWEEP;
    const pauses: number[] = [];
    for (let round = 0; round < 7; round += 1) {
      next = afterCheck(next, { kind: 'wait', until: 'tickEnds' }, of(false));
      if (next.kind === 'watch') pauses.push(next.at - NOW);
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000]);
    expect(afterCheck(next, { kind: 'wait', until: NOW + 8 * SECOND }, of(false))).toEqual({
      ...{ kind: 'watch', at: NOW + SECOND, delayMs: 100 },
    });
  });

  it('waits for required jobs until the end of the wait, or until one of their rows changes', () => {
    const decision: Decision = { kind: 'await', checkAt: NOW + 60 * SECOND };
    const waits = afterCheck(SWEEP, decision, of(false));
    expect(waits).toEqual({ kind: 'awaits', at: NOW + 60 * SECOND });
    expect(afterCheck(SWEEP, decision, of(true))).toEqual({ kind: 'awaits', at: NOW + 60 * SECOND + HOLD_BACK_MS });
    expect(checkTime(waits)).toBe(NOW + 60 * SECOND);
    expect(requiredMoved(waits, NOW + SECOND)).toEqual({ kind: 'awaits', at: NOW + SECOND });
    expect(requiredMoved(waits, NOW + 90 * SECOND)).toEqual(waits);
    for (const other of [SWEEP, READY, { kind: 'holdBack', until: NOW } as const]) {
      expect(requiredMoved(other, NOW)).toBe(other);
    }
    // Their rows changed while their ledgers were read.
    const unread: Decision = { kind: 'readRequired', jobs: [], since: 0 };
    expect(afterCheck(waits, unread, of(false))).toMatchObject({ kind: 'watch', at: NOW + 100 });
  });

  it('that fails is tried again in the next step', () => {
    expect(checkStarted(SWEEP, NOW)).toEqual({ kind: 'rest', at: NOW });
    expect(checkStarted({ kind: 'rest', at: NOW + SECOND }, NOW)).toEqual({ kind: 'rest', at: NOW });
    const over: NextCheck = { kind: 'holdBack', until: NOW - 1 };
    expect(checkStarted(over, NOW)).toBe(over);
  });

  it('is due at once after a correction of the clock, if it had a time', () => {
    expect(clockCorrected({ kind: 'holdBack', until: NOW })).toEqual({ kind: 'rest', at: 0 });
    expect(clockCorrected(SWEEP)).toBe(SWEEP);
    expect(clockCorrected({ kind: 'acting' })).toEqual({ kind: 'acting' });
  });
});

describe('the notes on a job', () => {
  it('follow a claim from its decision to its end, and leave earlier notes as they were', () => {
    const facts = { before: READY, decision: claim(), isForeign: false, now: NOW, wasMoved: false };
    const decided = after(NEW_NOTES, 'decided', { ...facts, decidedOn: 'v1', upcoming: undefined, inFlight: false });
    expect(decided).toEqual({ ...NEW_NOTES, next: READY, decidedOn: 'v1' });
    const acting = after(decided, 'actionStarted', null);
    expect([acting.next.kind, decided.next.kind, NEW_NOTES.next.kind]).toEqual(['acting', 'ready', 'sweep']);
    const over = after(acting, 'actionOver', { won: true, nextCheckAt: NOW + SECOND, upcoming: undefined });
    expect(over).toEqual({ ...NEW_NOTES, next: { kind: 'rest', at: NOW + SECOND }, inFlight: true });
  });

  it('keep the id of a lease whose acquisition got no answer, until it is used', () => {
    const lease = { etag: 'e' as ETag, lease: 'available', leaseId: 'l' as LeaseId, leaseMs: SECOND } as const;
    const asked = after(NEW_NOTES, 'acquires', { unanswered: lease });
    const over = { nextCheckAt: NOW, upcoming: undefined };
    expect(after(asked, 'actionOver', { ...over, won: undefined }).unanswered).toBe(lease);
    expect(after(asked, 'actionOver', { ...over, won: false }).unanswered).toBeUndefined();
    expect(after(asked, 'leaseUsed', null).unanswered).toBeUndefined();
  });

  it('let others go first for longer while they win, until nothing is due or this deployment wins', () => {
    const facts = { isForeign: true, now: NOW, wasMoved: false, decidedOn: 'v1', upcoming: undefined, inFlight: true };
    const over = { nextCheckAt: NOW, upcoming: undefined };
    const heldBackMs = (notes: JobNotes): number =>
      (checkTime(after(notes, 'decided', { ...facts, before: SWEEP, decision: claim() }).next) ?? 0) - NOW;
    const lost = (notes: JobNotes): JobNotes => after(notes, 'actionOver', { ...over, won: false });
    expect(heldBackMs(lost(NEW_NOTES))).toBe(2 * HOLD_BACK_MS);
    const often = lost(lost(lost(lost(lost(NEW_NOTES)))));
    expect(heldBackMs(often)).toBe(8 * HOLD_BACK_MS);
    expect(heldBackMs(after(often, 'actionOver', { ...over, won: undefined }))).toBe(8 * HOLD_BACK_MS);
    expect(heldBackMs(after(often, 'actionOver', { ...over, won: true }))).toBe(HOLD_BACK_MS);
    const decision: Decision = { kind: 'nothing', checkAt: NOW + SECOND };
    expect(heldBackMs(after(often, 'decided', { ...facts, before: SWEEP, decision }))).toBe(HOLD_BACK_MS);
  });

  it('let only a job that waits for its hub go on once that is proven', () => {
    const waits = after(NEW_NOTES, 'putOff', { next: { kind: 'waitsForHub' } });
    expect(after(waits, 'hubProven', { now: NOW }).next).toEqual({ kind: 'holdBack', until: NOW });
    expect(after(NEW_NOTES, 'hubProven', { now: NOW })).toEqual(NEW_NOTES);
  });
});
