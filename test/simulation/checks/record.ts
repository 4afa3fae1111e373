import { type LedgerRecord, parseRecord } from '../../../src/core/record';
import type { StoredRecord } from '../../../src/lease/store';
import { checkTimedOut } from './items';
import { checkExpired } from './concurrency';
import { type JobFacts, type RecordFact, type Report, isRequest, keyText } from '../world/facts';

/** Checks a ledger record that storage has just accepted. */
export function recordWritten(facts: JobFacts, key: string, stored: StoredRecord, now: number, report: Report): void {
  const { name, records } = facts;
  const record = parseRecord(name, key, stored.body);
  const found = records.get(key);
  const before = found?.record;
  const from = Date.parse(record.scheduledFor);
  const fact: RecordFact = {
    record,
    span: [from, record.through === undefined ? from : Date.parse(record.through)],
    writtenAt: now,
  };
  if (found?.isDeleted === true) checkUnknown(facts, key, found.record, record, report);
  else if (before?.state === 'final') report('finalOverwritten', name, `final record ${keyText(key)} was overwritten`);
  if (before !== undefined && (record.token ?? 0) < (before.token ?? 0)) {
    const what = `record ${keyText(key)} of token ${String(before.token)} was overwritten by ${String(record.token)}`;
    report('recordWentBack', name, what);
  }
  if (record.state === 'final') checkFinal(facts, key, record, now, report);
  if (before === undefined) checkSpan(facts, key, fact, report);
  records.set(key, fact);
}

/** A deleted record is written again only with the same outcome, or with an unknown outcome. */
function checkUnknown(
  { name }: JobFacts,
  key: string,
  before: LedgerRecord,
  record: LedgerRecord,
  report: Report,
): void {
  const isSame = record.outcome === before.outcome && record.reason === before.reason;
  if (isSame || before.state === 'open' || record.reason === 'outcomeUnknown') return;
  report('writtenAgain', name, `record ${keyText(key)} was deleted, and written again as ${String(record.reason)}`);
}

function checkFinal(facts: JobFacts, key: string, record: LedgerRecord, now: number, report: Report): void {
  const { name } = facts;
  if (record.outcome === null || record.reason === null) {
    report('noReason', name, `final record ${keyText(key)} says ${String(record.outcome)}, ${String(record.reason)}`);
  }
  if (record.trigger === null) {
    if (facts.owed.get(key) !== `${String(record.outcome)} ${String(record.reason)}`) {
      const what = `${keyText(key)} was recorded as ${String(record.outcome)} before a row showed it`;
      report('recordBeforeRow', name, what);
    }
    return;
  }
  if (record.trigger === 'backfill' && record.reason === 'overlapCancel') {
    report('backfillGaveWay', name, `${keyText(key)} was ended by a due time or a request`);
  }
  if (record.outcome === 'paused') checkNotRun(facts, key, report);
  if (record.outcome === 'expired') checkExpired(facts, key, record, now, report);
  for (const { key: run, token } of facts.started.values()) {
    // `recover` ends an open record as it returned, and its later attempts are lost.
    if (run !== key || token <= (record.token ?? 0) || record.reason === 'failedOver') continue;
    const what = `${keyText(key)} was ended by token ${String(record.token)} after the handler of token ${String(token)} had started`;
    report('endedByPredecessor', name, what);
  }
  checkTimedOut(facts, key, record, report);
  if (record.attempts.some(({ error }) => error?.name === 'ForeignRecordError')) {
    report('pieceMissing', name, `an attempt of ${keyText(key)} did not find a piece of its run`);
  }
  const hasReturned = facts.isOrchestration ? facts.orchestrated.has(key) : facts.returned.has(record.token ?? 0);
  if (record.reason === 'completed' && !hasReturned) {
    report('wrongOutcome', name, `${keyText(key)} was recorded as completed, and its handler did not return`);
  }
}

/** A run that was claimed before its job was paused has no handler. */
function checkNotRun({ name, started, controls }: JobFacts, key: string, report: Report): void {
  const ran = [...started.values()].some((start) => start.key === key);
  if (ran) report('wrongOutcome', name, `${keyText(key)} was recorded as paused, and its handler had started`);
  const wasPaused = controls.some(({ control }) => control.pauses.length > 0);
  if (!wasPaused) report('wrongOutcome', name, `${keyText(key)} was recorded as paused, and nobody paused the job`);
}

/** No due time has two records, and a stretch counts the due times that it covers. */
function checkSpan(facts: JobFacts, key: string, { record, span }: RecordFact, report: Report): void {
  const { name, records, specs } = facts;
  if (isRequest(key)) return;
  const [from, through] = span;
  for (const [other, others] of records) {
    if (from <= others.span[1] && others.span[0] <= through && !isRequest(other)) {
      const both = `${keyText(key)} (${String(record.outcome)}) and ${keyText(other)} (${String(others.record.outcome)})`;
      report('twoOutcomes', name, `records ${both} overlap`);
    }
  }
  if (record.through === undefined || record.count === undefined) return;
  const fits = specs.some(({ timetable }) => {
    let counted = 0;
    for (let due = timetable.next(from - 1); due !== undefined && due <= through; due = timetable.next(due)) {
      counted += 1;
    }
    return counted === (record.count ?? 1);
  });
  if (!fits) {
    report('wrongCount', name, `stretch ${keyText(key)} counts ${String(record.count)}, and its schedule has others`);
  }
}
