import type { LeaseId } from '../../../src/core/brand';
import type { Stretch } from '../../../src/core/outcome';
import { recordKey } from '../../../src/core/key';
import type { Row } from '../../../src/core/row';
import { tokenRaised } from './failover';
import { checkDecision } from './decision';
import { leftToItems } from './items';
import { checkLeft } from './left';
import { checkToldBeforeRelease, countedIn } from './notices';
import { checkNotBefore } from './wait';
import {
  type Acquisition,
  type Actor,
  type ClaimFact,
  DATE_BEHIND_MS,
  type JobFacts,
  type PresenceFacts,
  type Report,
  isFinal,
  keyText,
  short,
} from '../world/facts';

/** A row, with the process that sent it, and when it did so first. */
interface WrittenRow {
  readonly row: Row;
  readonly leaseId: LeaseId;
  readonly actor: Actor;
  readonly sentAt: number;
  readonly presences: PresenceFacts;
}

/** Checks a row that storage has just accepted under a lease. */
export function rowWritten(
  facts: JobFacts,
  { row, leaseId, actor, sentAt, presences }: WrittenRow,
  now: number,
  report: Report,
): void {
  const { row: before } = facts;
  const beforeError = facts.writerError;
  facts.row = row;
  // The clock may have been set since the row was sent.
  facts.writerError = Math.max(Math.abs(actor.error()), actor.largestErrorSent.get(facts.name) ?? 0);
  actor.largestErrorSent.delete(facts.name);
  if (before === undefined) return;
  leftToItems(facts, before, row, now, report);
  countedIn(facts, before, row, actor);
  for (const stretch of row.owed) facts.owed.set(keyOf(stretch), `${stretch.outcome} ${stretch.reason}`);
  checkGrowth(facts, before, row, report);
  checkReign(facts, before, row, actor, report);
  checkTimes(facts, before, row, actor, now, report);
  checkLeft(facts, before, row, { actor, presences, now }, report);
  const spec = actor.spec(facts.name);
  if (spec !== undefined) checkNotBefore(facts, row, spec, now, report);
  const acquisition = facts.acquisitions.get(leaseId);
  if (acquisition !== undefined) acquisition.used = true;
  if (row.token !== before.token && facts.failedOver !== undefined && facts.failedOver.recovered === undefined) {
    tokenRaised(facts, facts.failedOver, row, report);
  } else if (row.token !== before.token)
    claimed(facts, { token: row.token, at: now, leaseId, before, beforeError, row }, acquisition, report);
  // A job that was forgotten, or is back, owes no earlier records: its cursor skips the old due times.
  const isSeenAnew = row.forgotten !== undefined || before.forgotten !== undefined;
  if (acquisition === undefined || isSeenAnew) return;
  const again = acquisition.again.findLast(({ at }) => at <= sentAt);
  // The tick's decision, or one of the attempt after it had acquired the lease again, for a first attempt.
  if (again === undefined || row.attempt > 1) checkDecision(facts, before, row, acquisition, report);
  else {
    // The Date of that acquisition has corrected the clock.
    const errors = [...acquisition.errors, actor.error()];
    const between: Acquisition['errors'] = [Math.min(...errors), Math.max(...errors)];
    const anew = { ...acquisition, actor, sentAt, lastAt: sentAt, errors: between };
    const views = { viewAt: again.at, lastViewAt: again.at };
    if (again.isAfterEnd) checkDecision(facts, before, row, { ...anew, ...views }, report);
    else if (!isRight(facts, before, row, acquisition)) checkDecision(facts, before, row, anew, report);
  }
}

/** A row that was deleted comes back above all tokens that were given out. `recover` raises them later. */
export function checkCreated({ name, claimOf, failedOver }: JobFacts, { token }: Row, report: Report): void {
  const given = Math.max(0, ...claimOf.keys());
  if (token >= given || failedOver !== undefined) return;
  report('tokenUsedAgain', name, `its row was created with token ${String(token)}, and ${String(given)} was given out`);
}

function isRight(facts: JobFacts, before: Row, row: Row, decided: Acquisition): boolean {
  let right = true;
  checkDecision(facts, before, row, decided, () => {
    right = false;
  });
  return right;
}

/** Only the schedule of a higher revision replaces a schedule. */
function checkReign(facts: JobFacts, before: Row, row: Row, actor: Actor, report: Report): void {
  // Due times while no one had the job have no outcome.
  if (row.forgotten !== undefined && before.forgotten === undefined) {
    facts.reigns.push({ hash: 'forgotten', after: row.cursor });
  }
  if (before.forgotten !== undefined && row.forgotten === undefined) {
    facts.reigns.push({ hash: row.scheduleHash, after: row.cursor });
    if (actor.revision >= before.revision) return;
  }
  if (row.scheduleHash === before.scheduleHash) return;
  facts.reigns.push({ hash: row.scheduleHash, after: row.cursor });
  if (actor.revision > before.revision) return;
  const what = `revision ${String(actor.revision)} has put its schedule in the place of that of revision ${String(before.revision)}`;
  report('wronglyAdopted', facts.name, what);
}

/** The fields that never fall, and those that are never dropped. */
function checkGrowth(facts: JobFacts, before: Row, row: Row, report: Report): void {
  const { name } = facts;
  if (row.cursor < before.cursor) {
    report('cursorWentBack', name, `cursor went back from ${short(before.cursor)} to ${short(row.cursor)}`);
  }
  if (row.manualTaken < before.manualTaken) report('requestsWentBack', name, 'the last request taken went back');
  if (row.token < before.token) {
    report('tokenWentBack', name, `token went back from ${String(before.token)} to ${String(row.token)}`);
  }
  if (row.revision < before.revision) report('revisionWentBack', name, 'the revision went back');
  for (const stretch of before.owed) {
    if (!row.owed.some((other) => sameStretch(other, stretch)) && !isFinal(facts, keyOf(stretch))) {
      report('owedDropped', name, `owed record of ${short(stretch.from)} was dropped unwritten`);
    }
  }
}

/** A clock may be corrected between a look at it and the write, by as much as stays uncorrected. */
const CORRECTED_MS = 2_500;

/** The instants for later decisions are true, except for the error of the writer's clock. */
function checkTimes(facts: JobFacts, before: Row, row: Row, actor: Actor, now: number, report: Report): void {
  const { busyUntil, run } = row;
  if (busyUntil === undefined || busyUntil === before.busyUntil) return;
  const endedAt = facts.records.get(run?.key ?? '')?.record.endedAt;
  if (typeof endedAt === 'string' && Date.parse(endedAt) === busyUntil) return;
  if (busyUntil > now + Math.max(actor.error(), actor.mostError()) + CORRECTED_MS) {
    report('wrongBusyUntil', facts.name, `busy until ${short(busyUntil)}, and it is ${short(now)}`);
  }
}

function claimed(facts: JobFacts, claim: ClaimFact, acquisition: Acquisition | undefined, report: Report): void {
  const { name } = facts;
  const { before, row } = claim;
  const { run } = row;
  if (run === undefined) {
    report('claimWithoutRun', name, 'a claim without a run');
    return;
  }
  const what = `${keyText(run.key)} attempt ${String(row.attempt)}`;
  if (row.token !== before.token + 1) {
    report('tokenJumped', name, `token jumped from ${String(before.token)} to ${String(row.token)}`);
  }
  if (row.token <= (facts.failedOver?.tokens ?? 0)) {
    report('tokenUsedAgain', name, `${what} was claimed with token ${String(row.token)}, which was given out before`);
  }
  // A run in progress is not delayed.
  const spoiled = facts.spoiled.find(({ until }) => until === undefined);
  if (row.attempt === 1 && spoiled !== undefined && (acquisition?.viewAt ?? 0) > spoiled.since) {
    report('claimedSpoiled', name, `${what} was claimed although the ${spoiled.what} is not cronlease's`);
  }
  const attempt = `${run.key} ${String(row.attempt)}`;
  if (facts.claims.has(attempt)) report('claimedTwice', name, `${what} was claimed twice`);
  if (row.attempt === 1) checkFirst(facts, before, row, acquisition, report);
  else if (!continues(before, row)) {
    report('attemptOutOfTurn', name, `${what} does not follow the row`);
  } else {
    checkNotSettled(facts, what, run.key, acquisition, report);
    // A person's claim, which is not an acquisition of an instance, ends the run, whatever counts.
    if (acquisition !== undefined) checkCounted(facts, before, row, report);
  }
  facts.claims.set(attempt, claim);
  facts.claimOf.set(row.token, claim);
}

/**
 * A lost attempt counts if its handler was called, and does not if it could not even mark its run: the record would
 * show the mark by now. After a failover, no one knows.
 */
function checkCounted(facts: JobFacts, before: Row, row: Row, report: Report): void {
  const { run, phase, attempt, execution, notBefore } = before;
  if (run === undefined || run.key !== row.run?.key || phase !== 'running' || facts.failedOver !== undefined) return;
  const isUncounted = row.uncountedAttempts > before.uncountedAttempts;
  const what = `attempt ${String(attempt)} of ${keyText(run.key)}`;
  if (isUncounted && facts.started.has(`${run.key} ${String(attempt)}`)) {
    report('startNotCounted', facts.name, `${what} called its handler, and does not count`);
  }
  const isMarked = facts.records.get(run.key)?.record.execution === execution;
  // After the deadline of its items, the claim counts for them.
  if (!isUncounted && attempt > 1 && !isMarked && notBefore === undefined) {
    report('unmarkedCounted', facts.name, `${what} could not mark its run, and counts`);
  }
}

/** Whether a claim of the next attempt follows the row, or the run that the row has aside. */
function continues({ run, attempt, backfill }: Row, row: Row): boolean {
  if (run?.key === row.run?.key) return row.attempt === attempt + 1;
  const { aside, id } = backfill ?? {};
  return aside !== undefined && recordKey(aside.scheduledFor, id) === row.run?.key && row.attempt === aside.attempt + 1;
}

/** Whether a back-filled run that waits for its next attempt was put aside. */
function gaveWay({ run, phase, attempt }: Row, { backfill }: Row): boolean {
  if (run?.trigger !== 'backfill' || phase !== 'retrying' || backfill?.aside === undefined) return false;
  return recordKey(backfill.aside.scheduledFor, backfill.id) === run.key && backfill.aside.attempt === attempt;
}

function checkFirst(
  facts: JobFacts,
  before: Row,
  row: Row,
  acquisition: Acquisition | undefined,
  report: Report,
): void {
  const { name, records } = facts;
  const { run } = row;
  if (run === undefined) return;
  if (records.has(run.key)) report('claimedAgain', name, `${keyText(run.key)} was claimed although its record exists`);
  const isTimed = facts.specs.some(({ kind }) => kind === 'timed');
  if (run.trigger !== 'manual' && run.trigger !== 'backfill' && isTimed && before.cursor >= run.scheduledFor) {
    report('claimedAgain', name, `${short(run.scheduledFor)} was claimed although the cursor is past it`);
  }
  const isAside = gaveWay(before, row);
  if (before.run !== undefined && before.phase !== 'idle' && !isAside && !isFinal(facts, before.run.key)) {
    const unfinished = keyText(before.run.key);
    report('claimedOver', name, `${keyText(run.key)} was claimed while run ${unfinished} is unfinished`);
  }
  const { at, provenAt } = acquisition ?? { at: undefined, provenAt: 0 };
  if (at !== undefined && (run.since < at - DATE_BEHIND_MS || run.since > provenAt)) {
    report('wrongSince', name, `run ${keyText(run.key)} says it began at ${short(run.since)}, not ${short(at)}`);
  }
}

/** A run whose final record existed when a tick looked is settled: no one takes it over. */
function checkNotSettled(
  facts: JobFacts,
  what: string,
  key: string,
  acquisition: Acquisition | undefined,
  report: Report,
): void {
  const fact = facts.records.get(key);
  if (fact?.record.state !== 'final' || acquisition === undefined) return;
  if (fact.writtenAt < acquisition.viewAt) {
    report('settledTakenOver', facts.name, `${what} was claimed although its final record was there to be read`);
  }
}

/** Checks a row that has just been released. */
export function released(facts: JobFacts, report: Report): void {
  const { row, name } = facts;
  if (row === undefined) return;
  checkToldBeforeRelease(facts, report);
  if (row.phase === 'running' && row.run !== undefined && !isFinal(facts, row.run.key)) {
    report('releasedUnfinished', name, `released over unfinished run ${keyText(row.run.key)}`);
  }
  for (const stretch of row.owed) {
    if (!isFinal(facts, keyOf(stretch))) {
      report('releasedOwing', name, `released over owed record of ${short(stretch.from)}`);
    }
  }
}

function keyOf(stretch: Stretch): string {
  return recordKey(stretch.from, stretch.request);
}

function sameStretch(a: Stretch, b: Stretch): boolean {
  return a.from === b.from && a.through === b.through && a.outcome === b.outcome && a.request === b.request;
}
