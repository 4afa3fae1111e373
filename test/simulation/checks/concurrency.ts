import type { JobSpec } from '../../../src/core/job';
import type { LedgerRecord } from '../../../src/core/record';
import type { SimulatedProcess } from '../world/process';
import { type ClaimFact, type Execution, type JobFacts, type Report, keyText } from '../world/facts';

/** After a longer wait for a permit, a control that is older than this must be read again. */
const CONTROL_AGE_MS = 5_000;
/** How long that may take, and how old an answer may be. */
const READ_MS = 3_000;
const ON_TIME_MS = 30_000;
const CLAIMED_AGAIN_MS = 20_000;
/** The error of a clock that is not corrected, and of a wait. */
const CLOCKS_MS = 5_000;
/** The host's functionTimeout in the simulator, and the wait that a job always has. */
const HOST_MS = 150_000;
const WAIT_AT_LEAST_MS = 10_000;

/** Checks how many handlers and items a process runs. One whose signal is aborted may have lost its permit. */
export function checkAtOnce(
  jobs: Iterable<JobFacts>,
  process: SimulatedProcess,
  limit: number | undefined,
  report: Report,
): void {
  if (limit === undefined) return;
  const running: string[] = [];
  for (const { name, executions, items } of jobs) {
    for (const one of executions) {
      const takesPermit = one.actor.spec(name)?.kind !== 'always';
      if (one.process === process && takesPermit && !one.context.signal.aborted) running.push(one.context.runId);
    }
    for (const one of items) {
      if (one.process === process && !one.context.signal.aborted) running.push(`an item of ${one.context.runId}`);
    }
  }
  if (running.length > limit) {
    report('tooManyAtOnce', 'all', `${process.id} runs ${running.join(', ')} at once, and may run ${String(limit)}`);
  }
}

/** Checks a handler that starts after a wait for its group or for a permit. */
export function checkWaited(
  facts: JobFacts,
  execution: Execution,
  claim: ClaimFact,
  now: number,
  report: Report,
): void {
  const { actor, process, context } = execution;
  const waited = facts.permitWaits.get(context.fence.token) ?? 0;
  const { run, past } = claim.row;
  const spec = actor.spec(facts.name);
  // A process that stood still notices nothing meanwhile.
  if (waited === 0 || run === undefined || spec === undefined || now - waited - READ_MS < process.wokeAt()) return;
  const what = `handler of ${keyText(run.key)} waited ${String(waited)} ms for its turn`;
  const host = Math.max(WAIT_AT_LEAST_MS, HOST_MS - (spec.timeoutMs ?? 0) - spec.graceMs);
  if (waited > host + CLOCKS_MS)
    report('waitedTooLong', facts.name, `${what}, and its host ends it after ${String(host)}`);
  if (past.length > 0) return;
  const due = run.scheduledFor + (run.trigger === 'manual' ? 0 : spec.offsetMs);
  const window = windowOf(spec, run.trigger);
  if (now - waited - due < window - CLOCKS_MS && now - due > window + CLOCKS_MS) {
    report('startedExpired', facts.name, `${what}, and started although it is older than its window`);
  }
  if (waited > CONTROL_AGE_MS && run.trigger !== 'manual' && isPausedSince(facts, execution, now)) {
    report('startedPaused', facts.name, `${what}, and its job had been paused meanwhile`);
  }
}

/** Whether the job has been paused without an end since before its control must have been read last. */
function isPausedSince({ name, controls }: JobFacts, { actor }: Execution, now: number): boolean {
  if (actor.unread.has(name)) return false;
  const from = now - CONTROL_AGE_MS - READ_MS;
  const last = controls.findLast((version) => version.at <= from);
  const seen = [last, ...controls.filter((version) => version.at > from && version.at <= now)];
  return seen.every((version) => version?.control.pauses.some(({ until }) => until === undefined) === true);
}

/** A due time or a request that was claimed and expired is older than its window, and has no handler. */
export function checkExpired(facts: JobFacts, key: string, record: LedgerRecord, now: number, report: Report): void {
  const { name, started, claimOf } = facts;
  const what = `${keyText(key)} was claimed and recorded as expired`;
  if ([...started.values()].some((start) => start.key === key)) {
    report('wrongOutcome', name, `${what}, and its handler had started`);
  }
  const claim = claimOf.get(record.token ?? 0);
  const spec = claim && facts.acquisitions.get(claim.leaseId)?.actor.spec(name);
  if (spec === undefined || record.trigger === null) return;
  const due = Date.parse(record.scheduledFor) + (record.trigger === 'manual' ? 0 : spec.offsetMs);
  const isFull = record.reason === 'concurrencyLimit' || (record.reason === 'groupFull' && spec.group !== undefined);
  if (!isFull || now - due < windowOf(spec, record.trigger) - CLOCKS_MS) {
    report('wrongOutcome', name, `${what} (${String(record.reason)}), and is not older than its window`);
  }
}

/** By the order of outcomes, written apart from the product's own calculation. A back-filled run is never too old. */
function windowOf({ catchUp, catchUpWindowMs, leaseMs }: JobSpec, trigger: string): number {
  if (trigger === 'backfill') return Infinity;
  if (trigger === 'manual' || catchUp !== 'none') return catchUpWindowMs;
  return Math.min(catchUpWindowMs, Math.max(ON_TIME_MS, leaseMs + CLAIMED_AGAIN_MS));
}
