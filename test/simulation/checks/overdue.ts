import type { CoordinatorEvent } from '../../../src/core/event';
import { currentPause, openPause } from '../../../src/core/control';
import type { JobSpec } from '../../../src/core/job';
import { type Actor, type JobFacts, type Report, short } from '../world/facts';

/*
 * Checks that `alertAfter` is reported when it should be, and never otherwise, from the writes to storage. It is
 * written apart from the product's own rules, and leaves out cases that are not known exactly.
 */

/** An instance that reports a job as overdue must have seen every older event. */
const SEEN_WITHIN_MS = 65_000;
/** The uncorrected error of a clock, and the resolution of the service's Date. */
const CLOCKS_MS = 3_500;
/** A sweep, a tick, and a look at the ledger. */
export const SAID_WITHIN_MS = 110_000;

/** Checks an event `overdue`. */
export function saidOverdue(
  facts: JobFacts,
  actor: Actor,
  { job }: CoordinatorEvent,
  now: number,
  report: Report,
): void {
  const spec = job === undefined ? undefined : actor.spec(job);
  facts.saidOverdueAt = now;
  if (spec?.alertAfterMs === undefined || !spec.enabled) {
    report('falselyOverdue', facts.name, 'it is reported overdue, and has no alertAfter or is disabled');
    return;
  }
  const by = now - SEEN_WITHIN_MS;
  const excuse = [...excusesOf(facts, by)].sort((a, b) => b.at - a.at)[0];
  const error = Math.abs(actor.error()) + CLOCKS_MS;
  if (excuse !== undefined && now - excuse.at + error < spec.alertAfterMs) {
    report('falselyOverdue', facts.name, `it is reported overdue, and ${excuse.what} at ${short(excuse.at)}`);
  }
  const seen = facts.controls.findLast(({ at }) => at <= by);
  const since = facts.controls.filter(({ at }) => at > by);
  if (seen !== undefined && [seen, ...since].every(({ control }) => currentPause(control, now) !== undefined)) {
    report('falselyOverdue', facts.name, 'it is reported overdue while it is paused');
  }
}

/** The events right after which a job cannot be overdue. */
function* excusesOf(facts: JobFacts, by: number): Iterable<{ readonly at: number; readonly what: string }> {
  yield { at: facts.firstCursor, what: 'was first seen' };
  for (const { record, writtenAt } of facts.records.values()) {
    if (record.outcome !== 'succeeded' || record.endedAt === null || writtenAt > by) continue;
    yield { at: Math.min(writtenAt, Date.parse(record.endedAt)), what: 'succeeded' };
  }
  let wasPaused = false;
  for (const [index, { at, control }] of facts.controls.entries()) {
    const changedAt = facts.controls[index + 1]?.at ?? Infinity;
    for (const { until } of control.pauses) {
      // A planned end counts if no one ended the pause before it.
      if (until !== undefined && until <= changedAt && at <= by) yield { at: until, what: 'was resumed' };
    }
    // The write that resumes a job may be the one that wrongly drops its pause.
    const isPaused = openPause(control) !== undefined;
    if (wasPaused && !isPaused && at <= by) yield { at, what: 'was resumed' };
    wasPaused = isPaused;
  }
}

/** Whether an instance should have reported by now that a job is overdue. Only for times when storage is well. */
export function checkSaidOverdue(facts: JobFacts, spec: JobSpec, now: number, report: Report): void {
  const { row, name, records, controls } = facts;
  if (spec.alertAfterMs === undefined || !spec.enabled || row === undefined || spec.at !== undefined) return;
  if (row.forgotten !== undefined || row.scheduleHash !== spec.scheduleHash) return;
  const last = controls.at(-1);
  if (last !== undefined && (currentPause(last.control, now) !== undefined || now - last.at < SAID_WITHIN_MS)) return;
  let from = Math.max(facts.firstCursor, row.lastGoodAt ?? 0);
  for (const { at } of excusesOf(facts, now)) from = Math.max(from, at);
  for (const { record, span } of records.values()) {
    if (record.outcome === 'paused' || record.outcome === 'disabled') from = Math.max(from, span[1]);
    if (record.outcome === 'succeeded') from = Math.max(from, Date.parse(record.endedAt ?? record.scheduledFor));
  }
  const overdueFrom = from + spec.alertAfterMs;
  if (now - overdueFrom < SAID_WITHIN_MS || now - facts.saidOverdueAt < SAID_WITHIN_MS) return;
  report('notSaidOverdue', name, `it has been overdue since ${short(overdueFrom)}, and no event has reported it`);
}
