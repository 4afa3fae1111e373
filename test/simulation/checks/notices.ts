import { type RanOutcome, hasRun } from '../../../src/core/outcome';
import { noticeId, parseNoticeId } from '../../../src/core/notice';
import type { Row } from '../../../src/core/row';
import { type Actor, type JobFacts, type Report, isFinal, keyText } from '../world/facts';
import type { World } from '../world/world';

/** The oracle's own reading of two rows: a run has been counted, and that changes the state of its job. */
export function countedIn(facts: JobFacts, before: Row, row: Row, actor: Actor): void {
  const notify = actor.spec(facts.name)?.notify;
  const key = row.run?.key;
  if (notify === undefined || key === undefined || row.token !== before.token || row.failures === before.failures)
    return;
  if (row.forgotten !== undefined || before.forgotten !== undefined) return;
  // The holder had died before the record, and the run is about to end otherwise.
  if (before.lastFailedKey === key && row.lastFailedKey !== key)
    facts.toTell.delete(noticeId(facts.name, 'failed', key));
  if (row.failures > before.failures) {
    if (row.failures === notify.after) facts.toTell.set(noticeId(facts.name, 'failed', key), key);
  } else if (row.failures === 0 && before.lastFailedKey !== key && before.failures >= notify.after) {
    facts.toTell.set(noticeId(facts.name, 'recovered', key), key);
  }
}

/** The network may repeat a call so much later. */
const ECHO_MS = 61_000;

/** A notice is created after the record of its run, tells what the record says, and is created once. */
export function noticeAsked(
  facts: JobFacts,
  id: string,
  kind: 'created' | 'exists',
  now: number,
  report: Report,
): void {
  const before = facts.told.get(id);
  facts.told.set(id, now);
  const change = parseNoticeId(id)?.change ?? '';
  if (kind === 'exists' || (change !== 'failed' && change !== 'recovered' && change !== 'paused')) return;
  // A failover can lose a notice.
  if (before !== undefined && now - before > ECHO_MS && facts.failedOver === undefined) {
    report('toldTwice', facts.name, `${id} was created again, after its delivery and deletion`);
  }
  const key = id.slice(`${facts.name}_${change}_`.length);
  const outcome = outcomeOf(facts, key);
  if (outcome === undefined) {
    report('toldEarly', facts.name, `${change} was told of run ${keyText(key)}, which has no final record`);
  } else if ((outcome === 'succeeded') !== (change === 'recovered') || outcome === 'cancelled') {
    report('toldWrong', facts.name, `${change} was told of run ${keyText(key)}, which ended as ${outcome}`);
  }
}

function outcomeOf({ records }: JobFacts, key: string): RanOutcome | undefined {
  const record = records.get(key)?.record;
  return record?.state === 'final' && hasRun(record.outcome) ? record.outcome : undefined;
}

/** A job that was told to be overdue may fail without another notice. */
function isOverdueTold({ told }: JobFacts): boolean {
  return [...told.keys()].some((id) => parseNoticeId(id)?.change === 'overdue');
}

/** No instance releases a row that names a notice which does not exist. A pause may not have happened after all. */
export function checkToldBeforeRelease(facts: JobFacts, report: Report): void {
  if (facts.failedOver !== undefined) return;
  for (const { change, of } of facts.row?.telling ?? []) {
    if (change === 'paused' || facts.told.has(noticeId(facts.name, change, of))) continue;
    if (change === 'failed' && isOverdueTold(facts)) continue;
    report('releasedUntold', facts.name, `released before ${change} of run ${keyText(of)} was told`);
  }
}

/** At the end: every change of state was told. A row may count a run that then ended otherwise. */
export function checkTold({ observer, failovers }: World): void {
  if (failovers > 0) return;
  for (const facts of observer.jobs.values()) {
    for (const [id, key] of facts.toTell) {
      const outcome = outcomeOf(facts, key);
      const isRecovery = parseNoticeId(id)?.change === 'recovered';
      if (outcome === undefined || outcome === 'cancelled' || (outcome === 'succeeded') !== isRecovery) continue;
      if (!isRecovery && isOverdueTold(facts)) continue;
      if (!facts.told.has(id) && isFinal(facts, key)) observer.report('notTold', facts.name, `${id} was never told`);
    }
  }
}
