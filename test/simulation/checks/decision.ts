import { type Control, NO_CONTROL } from '../../../src/core/control';
import type { Stretch } from '../../../src/core/outcome';
import type { JobSpec } from '../../../src/core/job';
import type { Row } from '../../../src/core/row';
import { checkBackfilled } from './backfill';
import { metAt } from './requires';
import { type Standstill, standstillsOf } from './standstill';
import {
  type Acquisition,
  DATE_BEHIND_MS,
  type JobFacts,
  type RecordFact,
  type Report,
  keyText,
  short,
} from '../world/facts';

/*
 * The right outcome of a due time, by the order of outcomes, from the observed events. It is written apart from the
 * product's own rules, and treats an instant that is not known exactly (the decision) as a range.
 */

const ON_TIME_MS = 30_000;
/** The longest time from the end of a lease to the claim after it. */
const CLAIMED_AGAIN_MS = 20_000;
/** A run may seem to end this much later than the listing of its row: Dates may be behind. */
const OVER_WITHIN_MS = 2_000;
/** A decision is made a little before it is sent. */
const EPSILON_MS = 20;
/** On a machine whose clock is off, the correction may have changed in between, by as much as stays uncorrected. */
const CORRECTED_MS = 2_500;
/** A Date is cut to whole seconds. */
const READ_BEFORE_MS = 1_000;
/** The most due times of one decision to check one by one. */
const DUE_TIMES = 500;

/** The facts at the time of a decision. */
interface View {
  readonly spec: JobSpec;
  /** The earliest and the latest instant, by the decider's own time, except for a clock ahead of the listing. */
  readonly from: number;
  readonly to: number;
  /** When the decision was sent at the latest. */
  readonly sentAt: number;
  /** When the required jobs had succeeded for a due time. */
  readonly metAt: (due: number) => number;
  /** The control as it was at some time in between. */
  readonly controls: readonly Control[];
  /** The last run: from its first acquisition until when it surely lasted, and until when it may have. */
  readonly lastRun: LastRun | undefined;
}

interface LastRun {
  readonly since: number;
  readonly surely: number;
  readonly perhaps: number;
  readonly isBackfilled: boolean;
  readonly stood: readonly Standstill[];
}

/** Checks the decision of a row write. */
export function checkDecision(facts: JobFacts, before: Row, row: Row, acquisition: Acquisition, report: Report): void {
  const { name } = facts;
  const spec = acquisition.actor.spec(name);
  if (spec === undefined || spec.kind === 'always') return;
  const isClaim = row.token > before.token;
  const decided = row.owed.filter(
    (stretch) => !before.owed.some(({ from, request }) => from === stretch.from && request === stretch.request),
  );
  const first = isClaim && row.attempt === 1;
  if (!first && row.cursor === before.cursor && decided.length === 0) return;
  const view = viewOf(facts, before, spec, acquisition);
  const { revision } = acquisition.actor;
  const otherSchedule = spec.scheduleHash !== before.scheduleHash;
  if (otherSchedule && revision < before.revision) {
    report('lowerRevision', name, `revision ${String(revision)} decided over ${String(before.revision)}`);
  }
  const { trigger } = row.run ?? {};
  const isAsked = trigger === 'manual' || trigger === 'backfill';
  const due = first && row.run !== undefined && !isAsked ? row.run.scheduledFor : undefined;
  checkCovered(
    facts,
    { from: before.cursor, to: row.cursor, spec, decided, due, lastRun: before.run?.scheduledFor ?? 0 },
    report,
  );
  if (due !== undefined) checkRun(facts, view, due, acquisition, report);
  else if (first && trigger === 'backfill') {
    checkBackfilled(facts, { spec, controls: view.controls, viewAt: acquisition.viewAt }, row, report);
    checkNothingWaits(facts, view, row, report);
  } else if (first && row.run !== undefined) checkRequest(facts, view, before, row, report);
  const startsAnew = before.leftSince !== undefined || (otherSchedule && revision > before.revision);
  for (const stretch of decided) checkStretch(facts, view, stretch, startsAnew, report);
}

function viewOf(
  facts: JobFacts,
  before: Row,
  spec: JobSpec,
  { viewAt, lastViewAt, sentAt, errors, skewed }: Acquisition,
): View {
  const { controls, records } = facts;
  const since = controls.findLastIndex(({ at }) => at <= viewAt);
  const known = controls.slice(Math.max(0, since)).filter(({ at }) => at <= sentAt);
  const slack = skewed ? CORRECTED_MS : EPSILON_MS;
  return {
    spec,
    from: Math.min(viewAt + errors[0] - slack, viewAt + 1_000 - DATE_BEHIND_MS),
    to: Math.min(sentAt + errors[1] + slack, sentAt + 1_000 + EPSILON_MS),
    sentAt,
    metAt: (due) => metAt(facts, spec, due),
    controls: [...(since < 0 ? [NO_CONTROL] : []), ...known.map((at) => at.control)],
    lastRun:
      before.run === undefined || wasEndedByRecovery(facts, before.run.key)
        ? undefined
        : lastRunOf(before, records.get(before.run.key), lastViewAt, {
            byRival: heldByRival(facts, before, spec),
            stood: standstillsOf(facts, spec, before.token),
          }),
  };
}

/**
 * Whether the last run's holder had another schedule, of the same revision. It cannot note which due times of this one
 * passed during its run, so no one knows for sure that they did.
 */
function heldByRival({ name, claimOf, acquisitions }: JobFacts, { token }: Row, spec: JobSpec): boolean {
  const claim = claimOf.get(token);
  const held = claim && acquisitions.get(claim.leaseId)?.actor.spec(name);
  return held !== undefined && held.scheduleHash !== spec.scheduleHash;
}

/** No one worked on a run that `recover` ended, so no due time overlaps with it. */
function wasEndedByRecovery({ failedOver, records }: JobFacts, key: string): boolean {
  const { at = Infinity, recovered } = failedOver ?? {};
  const writtenAt = records.get(key)?.writtenAt ?? 0;
  return writtenAt >= at && writtenAt <= (recovered?.at ?? 0);
}

/**
 * A holder with a wrong clock may record too late an end of its run, but not later than others saw its end. If its
 * clock was set back, the end is too early, and the row shows how long an earlier attempt was seen at work.
 */
function lastRunOf(
  { run, busyUntil = 0, phase }: Row,
  fact: RecordFact | undefined,
  viewAt: number,
  { byRival, stood }: { readonly byRival: boolean; readonly stood: readonly Standstill[] },
): LastRun | undefined {
  const isBackfilled = run?.trigger === 'backfill';
  // Due times wait for it between two attempts too, and then go first.
  if (isBackfilled && phase === 'retrying')
    return { since: run.since, surely: Infinity, perhaps: Infinity, isBackfilled, stood: [] };
  if (run === undefined || fact === undefined) return undefined;
  const { since } = run;
  // A record of an unknown outcome has no end, but the holder may have left one in the row.
  const ended = fact.record.endedAt === null ? busyUntil : Date.parse(fact.record.endedAt);
  return {
    since,
    surely: byRival ? since : Math.min(ended, fact.writtenAt),
    perhaps: Math.min(Math.max(ended, busyUntil), viewAt + OVER_WITHIN_MS),
    isBackfilled,
    // A due time waits for a back-filled run, whether someone is at work on it or not.
    stood: isBackfilled ? [] : stood,
  };
}

/** Every due time up to the new cursor has an outcome. */
function checkCovered(
  { name }: JobFacts,
  claimed: {
    readonly from: number;
    readonly to: number;
    readonly spec: JobSpec;
    readonly decided: readonly Stretch[];
    readonly due: number | undefined;
    readonly lastRun: number;
  },
  report: Report,
): void {
  const { from, to, spec, decided, due, lastRun } = claimed;
  // The old schedule is gone: all its possible due times are one stretch.
  const change = decided.find(({ count }) => count === 0);
  if (change !== undefined) {
    // The terms of a leader job lie after the cursor, with their own records.
    const isWhole =
      (change.from === from + 1 || change.from === lastRun + 1) && change.through === to && decided.length === 1;
    if (!isWhole)
      report('leftOut', name, `a change of schedule left something between ${short(from)} and ${short(to)}`);
    return;
  }
  let missing = due === undefined ? 0 : -1;
  for (const stretch of decided) if (stretch.request === undefined) missing -= stretch.count;
  let at = spec.timetable.next(from);
  for (let seen = 0; at !== undefined && at <= to; seen += 1) {
    // A job that is due every few seconds, and months without a deployment. To count them all takes too long.
    if (seen === 20_000) return;
    missing += 1;
    at = spec.timetable.next(at);
  }
  const went = `the cursor went from ${short(from)} to ${short(to)}`;
  if (missing > 0) report('leftOut', name, `${went} over ${String(missing)} due times without an outcome`);
  if (missing < 0) report('leftOut', name, `${went}, and not over all that was decided with it`);
}

function checkRun(facts: JobFacts, view: View, due: number, acquisition: Acquisition, report: Report): void {
  const { name } = facts;
  const { spec, controls } = view;
  const actual = due + spec.offsetMs;
  if (!spec.enabled) report('wrongOutcome', name, `${short(due)} was claimed although the job is disabled`);
  if (actual > acquisition.lastAt + acquisition.actor.lookAheadMs + 1_000 + EPSILON_MS) {
    report('tooEarly', name, `${short(due)} was claimed before anybody could know that it is due`);
  }
  if (controls.every(({ pauses }) => pauses.some(({ until }) => until === undefined))) {
    report('wrongOutcome', name, `${short(due)} was claimed while the job is paused`);
  }
  const allowed = verdicts(view, due);
  if (!allowed.has('run')) report('wrongOutcome', name, `${short(due)} was claimed, and should ${shouldBe(allowed)}`);
}

function checkRequest({ name }: JobFacts, view: View, before: Row, row: Row, report: Report): void {
  const waiting = view.controls.map(({ manualRuns: requests }) => {
    const numbers = requests.map(({ number }) => number).filter((number) => number > before.manualTaken);
    return Math.min(...numbers);
  });
  const age = view.from - (row.run?.scheduledFor ?? 0);
  if (age > view.spec.catchUpWindowMs)
    report('wrongOutcome', name, `request ${keyText(row.run?.key ?? '')} should be expired`);
  const taken = row.owed.filter(({ request }) => request !== undefined).length;
  if (taken === 0 && !waiting.includes(row.manualTaken)) {
    report('wrongOutcome', name, `request ${keyText(row.run?.key ?? '')} is not the oldest one that waits`);
  }
}

/** A back-fill gives way to each due time that could be claimed. */
function checkNothingWaits({ name }: JobFacts, view: View, row: Row, report: Report): void {
  const { spec } = view;
  const due = spec.timetable.next(row.cursor);
  if (due === undefined || due + spec.offsetMs > view.from - READ_BEFORE_MS || spec.requires.length > 0) return;
  const allowed = verdicts(view, due);
  const paused = view.controls.some(({ pauses }) => pauses.length > 0);
  if (paused || allowed.size !== 1 || !allowed.has('run')) return;
  report('backfillFirst', name, `${keyText(row.run?.key ?? '')} was claimed before the due time ${short(due)}`);
}

function checkStretch(facts: JobFacts, view: View, stretch: Stretch, startsAnew: boolean, report: Report): void {
  const { name } = facts;
  const { spec } = view;
  const verdict = `${stretch.outcome} ${stretch.reason}`;
  const wrong = (due: number, should: string): void => {
    report('wrongOutcome', name, `${short(due)} got the outcome ${verdict}, and should ${should}`);
  };
  if (stretch.outcome === 'disabled') {
    if (!startsAnew || stretch.through > view.to + 1_000) wrong(stretch.from, 'be what its schedule says');
    return;
  }
  if (stretch.request !== undefined) {
    if (verdict !== 'expired catchUpWindow' || view.to - stretch.from <= spec.catchUpWindowMs)
      wrong(stretch.from, 'be run');
    return;
  }
  let due: number | undefined = stretch.from;
  for (let seen = 0; due !== undefined && due <= stretch.through && seen < DUE_TIMES; seen += 1) {
    const allowed = verdicts(view, due);
    if (!allowed.has(verdict)) {
      wrong(due, shouldBe(allowed));
      return;
    }
    due = spec.timetable.next(due);
  }
}

function shouldBe(allowed: ReadonlySet<string>): string {
  return allowed.size === 0 ? 'wait' : `be ${[...allowed].join(' or ')}`;
}

function stoodAt({ stood }: LastRun, instant: number, how: keyof Standstill): boolean {
  return stood.some(({ [how]: [from, until] }) => from <= instant && instant < until);
}

type Truth = 'yes' | 'perhaps' | 'no';

/** Every verdict that the order of outcomes allows for a due time, by the known facts. */
function verdicts(view: View, due: number): ReadonlySet<string> {
  const { spec, lastRun } = view;
  const actual = due + spec.offsetMs;
  const newer = spec.timetable.next(due);
  const allowed = new Set<string>();
  /** Returns whether no later line can apply. */
  const line = (truth: Truth, verdict: string): boolean => {
    if (truth !== 'no') allowed.add(verdict);
    return truth === 'yes';
  };
  const olderThan = (age: number): Truth => {
    if (view.from - actual > age) return 'yes';
    return view.to - actual > age ? 'perhaps' : 'no';
  };
  const duringRun = (instant: number): Truth => {
    // The Date is cut to the second.
    if (lastRun === undefined || instant <= lastRun.since || instant >= lastRun.perhaps) return 'no';
    if (stoodAt(lastRun, instant, 'surely')) return 'no';
    return instant < lastRun.surely && !stoodAt(lastRun, instant, 'perhaps') ? 'yes' : 'perhaps';
  };

  if (line(pausedAt(view, actual), 'paused paused')) return allowed;
  if (line(olderThan(spec.catchUpWindowMs), 'expired catchUpWindow')) return allowed;
  if (spec.requires.length > 0) {
    const until = actual + spec.requireWithinMs;
    // The ledgers were read after a listing whose Date was no more than a second before the end of the wait.
    if (view.to >= until && view.metAt(due) > until - READ_BEFORE_MS) allowed.add('expired requirementNotMet');
    if (view.metAt(due) > view.sentAt) return allowed;
  }
  const during = duringRun(actual);
  if (during !== 'no' && lastRun?.isBackfilled === true) {
    const newest = spec.catchUp === 'all' ? 'no' : newerWaits(view, due, duringRun);
    if (newest !== 'no') allowed.add('collapsed catchUpLatest');
    if (newest !== 'yes') allowed.add('run');
  } else if (during !== 'no' && spec.overlap === 'skip') allowed.add('overlapped overlapSkip');
  else if (during !== 'no') {
    const newest = newerWaits(view, due, duringRun);
    if (newest !== 'no') allowed.add('overlapped overlapNewer');
    if (newest !== 'yes') allowed.add('run');
  }
  if (during === 'yes') return allowed;
  const reclaimed = Math.max(ON_TIME_MS, spec.leaseMs + CLAIMED_AGAIN_MS) + spec.requireWithinMs;
  const onTime = spec.catchUp === 'none' ? reclaimed : ON_TIME_MS;
  const missed = olderThan(onTime);
  if (missed !== 'yes') allowed.add('run');
  if (missed === 'no') return allowed;
  if (spec.catchUp === 'none') return allowed.add('expired catchUpNone');
  if (spec.catchUp === 'all' || newer === undefined) return allowed.add('run');
  const passed = newerPassed(view, newer, duringRun);
  if (passed !== 'no') allowed.add('collapsed catchUpLatest');
  if (passed !== 'yes') allowed.add('run');
  return allowed;
}

/** Whether a due time outside of pauses has passed, from this one on. */
function newerPassed(view: View, newer: number, duringRun: (instant: number) => Truth): Truth {
  const { spec } = view;
  let known: Truth = 'no';
  let due: number | undefined = newer;
  for (let seen = 0; due !== undefined && due + spec.offsetMs <= view.to && seen < DUE_TIMES; seen += 1) {
    // It waits itself, and so do those after it.
    if (view.metAt(due) > view.sentAt) break;
    const paused = pausedAt(view, due + spec.offsetMs);
    // One that the last run overlapped does not run, so nothing collapses into it.
    const skipped = spec.overlap === 'skip' ? duringRun(due + spec.offsetMs) : 'no';
    if (paused === 'no' && skipped === 'no' && due + spec.offsetMs <= view.from && isKnownToBeMet(view)) return 'yes';
    if (paused !== 'yes' && skipped !== 'yes') known = 'perhaps';
    due = spec.timetable.next(due);
  }
  return known;
}

/** Whether a newer due time waits for the run too: one in a pause does not. */
function newerWaits(view: View, due: number, duringRun: (instant: number) => Truth): Truth {
  const { spec } = view;
  let known: Truth = 'no';
  for (let newer = spec.timetable.next(due); newer !== undefined; newer = spec.timetable.next(newer)) {
    const actual = newer + spec.offsetMs;
    const during = duringRun(actual);
    if (during === 'no' && view.lastRun !== undefined && stoodAt(view.lastRun, actual, 'surely')) continue;
    if (during === 'no' || actual > view.to || view.metAt(newer) > view.sentAt) break;
    const paused = pausedAt(view, actual);
    if (paused === 'yes') continue;
    if (during === 'yes' && paused === 'no' && actual <= view.from && isKnownToBeMet(view)) return 'yes';
    known = 'perhaps';
  }
  return known;
}

/** A success that is recorded may still be unknown: the row of a required job changes after its record. */
function isKnownToBeMet({ spec }: View): boolean {
  return spec.requires.length === 0;
}

function pausedAt({ controls }: View, instant: number): Truth {
  const paused = controls.filter(({ pauses }) =>
    pauses.some(({ since, until }) => since <= instant && (until === undefined || instant < until)),
  );
  if (paused.length === 0) return 'no';
  return paused.length === controls.length ? 'yes' : 'perhaps';
}
