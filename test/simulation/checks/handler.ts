import { pauseAt } from '../../../src/core/control';
import { recordKey } from '../../../src/core/key';
import type { Row } from '../../../src/core/row';
import { checkNotAgain } from './failover';
import { checkWaited } from './concurrency';
import { trusts } from './trust';
import { type Actor, type ClaimFact, type Execution, type JobFacts, type Report, keyText } from '../world/facts';

/** A clock may drift a little while a run waits. */
const EPSILON_MS = 1_500;
/** A claim that was made earlier than this reads its control again. */
const EARLY_MS = 7_000;
/** How long before the due time it does so at the earliest, with a clock that is a little fast. */
const READS_AGAIN_MS = 4_000;

/** Checks a handler at the instant of its call. */
export function handlerStarted(facts: JobFacts, execution: Execution, key: string, now: number, report: Report): void {
  const { context, actor } = execution;
  const { name } = facts;
  const { token } = context.fence;
  const attempt = `${key} ${String(context.attempt)}`;
  const what = `handler of ${keyText(key)} attempt ${String(context.attempt)}`;
  if (facts.records.get(key)?.record.state === 'final') {
    report('startedAfterEnd', name, `${what} started although its final record exists`);
  }
  checkNotAgain(facts, execution, key, report);
  if (!trusts(execution)) report('startedWithoutTrust', name, `${what} started without trust in its lease`);
  if (facts.started.has(attempt)) report('startedTwice', name, `${what} was called twice`);
  facts.started.set(attempt, { key, token, at: now });
  const claim = facts.claims.get(attempt);
  if (claim?.token !== token) {
    report('startedUnclaimed', name, `${what} started with token ${String(token)}, not its claim's`);
    return;
  }
  const { before, beforeError, row } = claim;
  const spec = actor.spec(name);
  if (spec === undefined) return;
  // No one waits for a slow clock: the claim's Date bounds the wait.
  const perceived = now + Math.max(0, actor.error());
  if (row.run?.trigger === 'schedule' && spec.kind === 'timed' && perceived < row.run.scheduledFor + spec.offsetMs) {
    report('startedEarly', name, `${what} started before its due time`);
  }
  if (isPausedSince(facts, actor, claim, now)) {
    report('startedPaused', name, `${what} started, and its job had been paused since the claim`);
  }
  checkWaited(facts, execution, claim, now, report);
  const notBefore = notBeforeOf(before, key);
  if (notBefore !== undefined) {
    const off = beforeError + Math.abs(actor.error()) + EPSILON_MS;
    if (now + off < notBefore) report('retriedEarly', name, `${what} started before its not-before time`);
  }
  const recovered = facts.failedOver?.recovered;
  const isRerun = recovered?.reruns === true && recovered.run === key;
  // With its attempts used up, the operation of a call is polled on.
  const polls = spec.call !== undefined && facts.pieces.has(key);
  if (row.attempt - row.uncountedAttempts > spec.retry.attempts && !isRerun && !polls) {
    report('attemptsExceeded', name, `${what} started, and ${String(spec.retry.attempts)} attempts are allowed`);
  }
}

/**
 * Whether the job of an early claim has been paused since well before its due time, so that its handler must not start.
 */
function isPausedSince({ name, controls }: JobFacts, actor: Actor, { at, row }: ClaimFact, now: number): boolean {
  const { run } = row;
  const spec = actor.spec(name);
  if (run?.trigger !== 'schedule' || spec?.kind !== 'timed' || actor.unread.has(name)) return false;
  const due = run.scheduledFor + spec.offsetMs;
  if (due - at <= EARLY_MS) return false;
  const from = due - READS_AGAIN_MS - Math.max(0, actor.mostError());
  const last = controls.findLast((version) => version.at <= from);
  const seen = [last, ...controls.filter((version) => version.at > from && version.at <= now)];
  return seen.every((version) => version !== undefined && pauseAt(version.control, due) !== undefined);
}

/** When the run may be tried again. A back-filled one may wait aside while another run has the row. */
function notBeforeOf({ run, phase, notBefore, backfill }: Row, key: string): number | undefined {
  if (run?.key === key) return phase === 'retrying' ? notBefore : undefined;
  const { aside, id } = backfill ?? {};
  return aside !== undefined && recordKey(aside.scheduledFor, id) === key ? aside.notBefore : undefined;
}
