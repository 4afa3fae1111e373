import { actualTime } from '../../src/core/job';
import { recordKey } from '../../src/core/key';
import type { Deployment } from './instance';
import type { JobHistory, Observer } from './observer';
import { isFinal, isRequest, keyText, short, spanOf } from './observer';
import type { Plan, PlannedJob } from './plan';

/** How long before the end of the history a due time may still be on its way to its record. */
const ON_ITS_WAY_MS = 90_000;
/** The last stretch of the history, in which nothing is left of the faults. */
const CALM_MS = 120_000;
/** With clocks up to 2 s off, and other deployments' hold-back. */
const LATENESS_MS = 4_000;

/** What must hold once the faults have ended and it was quiet for a while. */
export function checkEnd(plan: Plan, observer: Observer, end: number, deployments: readonly Deployment[]): void {
  for (const planned of plan.jobs) {
    const history = observer.jobs.get(planned.specs[0].name);
    if (history === undefined) continue;
    if (history.row === undefined) {
      observer.violation(history.name, 'its row was never created');
      continue;
    }
    checkSettled(observer, history, end);
    checkFates(
      observer,
      planned,
      history,
      end,
      deployments.some(({ revision }) => revision === 1),
    );
    // A job that is due more often than it can run is late by itself, and each instance of a deployment with a dead
    // hub may take a lease once.
    const steady = deployments.every(({ endsDead }) => !endsDead);
    if (steady && planned.specs.every(({ schedule }) => schedule !== '@every 2s'))
      checkPunctual(observer, history, end);
  }
}

function checkSettled(observer: Observer, history: JobHistory, end: number): void {
  const { name, row, records } = history;
  for (const [key, { record }] of records) {
    const since = Math.max(
      ...record.attempts.map(({ startedAt }) => Date.parse(startedAt)),
      Date.parse(record.scheduledFor),
    );
    if (record.state === 'open' && since < end - ON_ITS_WAY_MS)
      observer.violation(name, `record ${keyText(key)} is still open`);
  }
  if (row?.run === undefined || row.phase === 'idle') return;
  if (!isFinal(history, row.run.key) && row.run.since < end - ON_ITS_WAY_MS) {
    observer.violation(name, `run ${keyText(row.run.key)} is left ${row.phase}`);
  }
}

function checkFates(
  observer: Observer,
  { specs }: PlannedJob,
  history: JobHistory,
  end: number,
  changed: boolean,
): void {
  const { name, records, firstCursor, claims } = history;
  for (const claimed of claims.keys()) {
    const key = claimed.split(' ')[0] ?? '';
    const since = history.row?.run?.key === key ? history.row.run.since : 0;
    if (!isFinal(history, key) && since < end - ON_ITS_WAY_MS)
      observer.violation(name, `run ${keyText(key)} has no final record`);
  }
  if (changed && specs[0].scheduleHash !== specs[1].scheduleHash) return;
  const [spec] = specs;
  const spans = [...records].filter(([key]) => !isRequest(key)).map(([, { record }]) => spanOf(record));
  for (let due = spec.timetable.next(firstCursor ?? 0); due !== undefined; due = spec.timetable.next(due)) {
    if (actualTime(spec, due) > end - ON_ITS_WAY_MS) break;
    const at = due;
    const fates = spans.filter(([from, through]) => from <= at && at <= through).length;
    if (fates !== 1) observer.violation(name, `due time ${short(due)} (${recordKey(due)}) has ${String(fates)} fates`);
  }
}

function checkPunctual(observer: Observer, { name, records }: JobHistory, end: number): void {
  for (const [key, { record }] of records) {
    if (record.trigger === 'manual' || isRequest(key)) continue;
    const due = Date.parse(record.scheduledFor);
    if (due < end - CALM_MS || due > end - 20_000) continue;
    if (record.outcome !== 'succeeded' && record.state === 'final') {
      observer.violation(
        name,
        `${keyText(key)} ended as ${String(record.outcome)} (${String(record.reason)}) although nothing disturbs`,
      );
    }
    if ((record.latenessMs ?? 0) > LATENESS_MS)
      observer.violation(name, `${keyText(key)} ran ${String(record.latenessMs)} ms late although nothing disturbs`);
  }
}
