import type { EpochMs } from '../brand';
import { type ManualRun, pendingManualRuns } from '../control';
import type { Stretch } from '../outcome';
import { actualTime, DATE_BEHIND_MS } from '../job';
import { recordKey } from '../key';
import { askedOf } from '../origin';
import { OWED_STRETCHES, type Row } from '../row';
import { decideBackfill, withBacklog } from './backfill';
import { carry, freshRun, isLeftBehind, owedBy, recentOf } from './next-row';
import { type Claim, type Decision, HELD_WATCH_MS, type Situation, earliest, seenBy } from './situation';
import { type OutcomeView, type Outcomes, type NextUp, outcomesOf } from './verdict';

/** Manual runs, due times and back-fills of a settled row, in this order. */
export function decideDue(s: Situation): Decision {
  const { decision, row } = decideFirst(s);
  return row === undefined ? withBacklog(s, decision) : decideBackfill(s, row, decision);
}

interface First {
  readonly decision: Decision;
  /** Makes the row of what was decided, if a back-fill may run now. Undefined: it may not. */
  readonly row?: () => Row;
}

/** Only manual runs and due times. */
export function decideFirst(s: Situation): First {
  const manual = takeManualRuns(s);
  const room = OWED_STRETCHES - owedBy(s).length - manual.stretches.length;
  const outcomes = outcomesOf(outcomeView(s), Math.max(0, room));
  const { next } = outcomes;
  if (next.kind === 'unread') return { decision: { ...next, kind: 'readRequired' } };
  const dueFirst = next.kind === 'claim' && (manual.next === undefined || next.queued);

  if (!dueFirst && manual.next !== undefined && next.kind !== 'more') {
    return { decision: { kind: 'claim', claim: manualClaim(s, outcomes, manual, manual.next) } };
  }
  if (next.kind === 'claim') {
    return { decision: { kind: 'claim', claim: dueClaim(decided(s, outcomes, manual), next) } };
  }
  if (mustRecordNow(s, outcomes, manual)) return { decision: record(s, outcomes, manual) };

  const newest = outcomes.stretches.at(-1);
  const recordAt = newest === undefined ? undefined : actualTime(s.job, newest.through) + s.sweepIntervalMs;
  if (next.kind === 'pastLimit') {
    return { decision: { kind: 'wait', until: actualTime(s.job, next.scheduledFor) + HELD_WATCH_MS } };
  }
  if (isLeftBehind(s)) return { decision: record(s, outcomes, manual) };
  if (next.kind === 'waits') return { decision: awaitRequired(s, next, recordAt) };
  const checkAt = earliest(next.kind === 'later' ? next.at : undefined, recordAt);
  const upcoming = next.kind === 'later' ? next.scheduledFor : undefined;
  return { decision: { kind: 'nothing', checkAt, upcoming }, row: () => decided(s, outcomes, manual) };
}

function dueClaim(base: Row, next: Extract<NextUp, { readonly kind: 'claim' }>): Claim {
  return {
    what: 'first',
    run: { kind: 'known', key: recordKey(next.scheduledFor), scheduledFor: next.scheduledFor },
    trigger: next.trigger,
    end: undefined,
    row: freshRun({ ...base, cursor: Math.max(base.cursor, next.scheduledFor) }),
  };
}

/** A due time waits for required jobs. A change of their rows leads to a check too. */
function awaitRequired(
  { now }: Situation,
  { until, isBusy }: Extract<NextUp, { readonly kind: 'waits' }>,
  recordAt: EpochMs | undefined,
): Decision {
  if (isBusy) return { kind: 'wait', until: 'tickEnds' };
  // The end of the wait has come by our clock, but not by the service's.
  if (until <= now) return { kind: 'wait', until: until + HELD_WATCH_MS };
  return { kind: 'await', checkAt: Math.min(until, recordAt ?? Infinity) };
}

/** Limits the decision by the listing's Date, so that a fast clock cannot run a due time early. */
function outcomeView(s: Situation): OutcomeView {
  const { job, control, required, now, lookAheadMs, handedOver } = s;
  const listedBy = s.listedAt + 1000;
  // The last run was over when the row was listed. Its holder's clock may have been fast.
  const overBy = s.listedAt + DATE_BEHIND_MS;
  const row = (s.row.busyUntil ?? 0) > overBy ? { ...s.row, busyUntil: overBy } : s.row;
  return { job, row, control, required, now, lookAheadMs, handedOver, limit: listedBy + lookAheadMs };
}

interface TakenManualRuns {
  /** Manual runs that are too old to run. */
  readonly stretches: readonly Stretch[];
  readonly manualTaken: number;
  readonly next: ManualRun | undefined;
}

/** Takes manual runs oldest first: each is too old, or claimed, or waits until the row has room for it. */
function takeManualRuns(s: Situation): TakenManualRuns {
  const stretches: Stretch[] = [];
  const room = Math.min(OWED_STRETCHES / 2, OWED_STRETCHES - owedBy(s).length);
  let { manualTaken } = s.row;
  for (const request of pendingManualRuns(s.control, manualTaken)) {
    if (seenBy(s) - request.time <= s.job.catchUpWindowMs) {
      return { stretches, manualTaken, next: request };
    }
    if (stretches.length >= room) break;
    const at = { from: request.time, through: request.time, count: 1, request: request.id };
    stretches.push({ outcome: 'expired', reason: 'catchUpWindow', ...at });
    manualTaken = request.number;
  }
  return { stretches, manualTaken, next: undefined };
}

function manualClaim(s: Situation, outcomes: Outcomes, manual: TakenManualRuns, request: ManualRun): Claim {
  return {
    what: 'first',
    run: {
      kind: 'known',
      key: recordKey(request.time, request.id),
      scheduledFor: request.time,
      asked: askedOf(request),
    },
    trigger: 'manual',
    end: undefined,
    row: freshRun({ ...decided(s, outcomes, manual), manualTaken: request.number }),
  };
}

/** Whether the decided outcomes must be recorded before the next claim. */
function mustRecordNow(s: Situation, outcomes: Outcomes, manual: TakenManualRuns): boolean {
  if (manual.stretches.length > 0 || outcomes.next.kind === 'more') return true;
  const newest = outcomes.stretches.at(-1);
  if (newest === undefined) return false;
  // What a success that comes late would change is recorded before it comes.
  if (outcomes.stretches.some(({ outcome, reason }) => outcome === 'paused' || reason === 'requirementNotMet'))
    return true;
  return s.now - actualTime(s.job, newest.through) >= s.sweepIntervalMs;
}

function record(s: Situation, outcomes: Outcomes, manual: TakenManualRuns): Decision {
  return { kind: 'record', row: decided(s, outcomes, manual) };
}

function decided(s: Situation, outcomes: Outcomes, manual: TakenManualRuns): Row {
  const base = carry(s);
  return {
    ...base,
    cursor: Math.max(base.cursor, outcomes.cursor),
    owed: [...base.owed, ...manual.stretches, ...outcomes.stretches],
    recent: recentOf(s, outcomes.stretches),
    manualTaken: manual.manualTaken,
  };
}
