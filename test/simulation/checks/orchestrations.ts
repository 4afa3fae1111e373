import type { LeaseId } from '../../../src/core/brand';
import { newestBeat } from '../../../src/core/fan-out';
import { parseOrchestrationEnd } from '../../../src/core/orchestration';
import type { Row } from '../../../src/core/row';
import type { StoredRecord } from '../../../src/lease/store';
import { type ActivityExecution, type JobFacts, type Report, isFinal, keyText } from '../world/facts';
import { firstSpec } from '../faults/plan-job';
import { START, type World } from '../world/world';

/** Once its run has continued without it, an activity trusts for at most this long. */
const TRUSTS_ON_MS = 10_000;
/** The attempt with which its run continues ends an orchestration within this. */
const ENDED_WITHIN_MS = 10_000;
/** A process that begins to tick has swept within this. */
const SWEPT_WITHIN_MS = 80_000;
/** Clocks may run slower than the service's by this share. */
const DRIFT = 0.01;
/** Dates are cut to the second, and their machines may be up to 0.9 s behind. */
const DATES_MS = 3_000;

/** No activity trusts for long after its run has continued, and none of two orchestrations of a job do at once. */
export function checkActivities(facts: JobFacts, now: number, report: Report): void {
  if (facts.activities.size === 0) return;
  const trusting: ActivityExecution[] = [];
  for (const activity of facts.activities) {
    const { run, fence, process } = activity;
    if (process.dead || process.paused || !fence.trusts) continue;
    const what = `an activity of ${run.runId} with token ${String(run.token)} on ${process.id}`;
    const wentOn = facts.wentOn.get(run.token);
    if (wentOn !== undefined && now > wentOn + TRUSTS_ON_MS * (1 + DRIFT)) {
      const ms = (now - wentOn).toFixed(0);
      report('activityTrustTooLong', facts.name, `${what} trusts ${ms} ms after its run continued`);
    }
    for (const { run: other } of trusting.filter((one) => mustNotTrustBeside(facts, one, activity))) {
      const both = `${what} trusts, and so does one of ${other.runId} with token ${String(other.token)}`;
      report('orchestratedTwice', facts.name, both);
    }
    trusting.push(activity);
  }
}

/** What an orchestration that has ended by itself leaves, as an activity that was delivered twice, trusts a little on. */
function mustNotTrustBeside(facts: JobFacts, { run: a }: ActivityExecution, { run: b }: ActivityExecution): boolean {
  const older = Math.min(a.token, b.token);
  return a.token !== b.token && (a.runId === b.runId || !facts.endedOrchestrations.has(older));
}

/** A run is not claimed for the silence of an orchestration whose heartbeat is young. */
export function checkSilence(
  facts: JobFacts,
  { before, row, leaseId }: { readonly before: Row; readonly row: Row; readonly leaseId: LeaseId },
  silentMs: number,
  now: number,
  report: Report,
): void {
  const isDue = now + DATES_MS >= (before.notBefore ?? 0);
  const isEarly = before.phase === 'fanning' && row.phase === 'running' && row.notBefore !== undefined && !isDue;
  if (!facts.isOrchestration || !isEarly || row.token === before.token) return;
  const pieces = [...(facts.pieces.get(before.run?.key ?? '') ?? [])];
  const beats = pieces.map(([name, writtenAt]) => ({ name, writtenAt, date: now }));
  const { writtenAt } = newestBeat(beats, before.token);
  // A heartbeat may come after the last look, which is made under the lease.
  const lookedAt = facts.acquisitions.get(leaseId)?.at ?? now;
  if (writtenAt >= lookedAt || now - writtenAt >= silentMs - DATES_MS) return;
  const ms = (now - writtenAt).toFixed(0);
  report('takenFromRunning', facts.name, `it was claimed ${ms} ms after the last heartbeat of its orchestration`);
}

/** The end of the orchestration for which a run waits was kept. */
export function endKept(facts: JobFacts, key: string, name: string, piece: StoredRecord): void {
  const end = parseOrchestrationEnd(piece.body);
  const { row } = facts;
  const isOfRow =
    row?.phase === 'fanning' && row.run?.key === key && name.startsWith(`kept-${String(row.token).padStart(16, '0')}`);
  if (end?.state === 'succeeded' && isOfRow) facts.endKept.add(key);
}

/** An orchestration of a run begins. */
export function orchestrationBegan(facts: JobFacts, key: string, token: number, report: Report): void {
  // The answer of its attempt came late: its activities are refused, and a tick ends it.
  if (token < (facts.row?.token ?? 0)) return;
  const what = `an orchestration of ${keyText(key)} with token ${String(token)} began`;
  if (facts.endKept.has(key)) report('orchestratedAgain', facts.name, `${what} although one of it had succeeded`);
  if (isFinal(facts, key)) report('startedAfterEnd', facts.name, `${what} although its final record exists`);
}

/** Nothing runs on for which no run waits. */
export function checkNoneLeft({ deployments, observer, plan, timeline }: World): void {
  for (const job of plan.jobs) {
    const facts = observer.jobs.get(firstSpec(job).name);
    if (facts?.isOrchestration !== true) continue;
    for (const { name, hub, ticking, deadSince } of deployments) {
      // One whose last host was told to stop as the faults ended is not back yet.
      const isThere = ticking?.process.dead === false && timeline.now() - ticking.ticksSince >= SWEPT_WITHIN_MS;
      if (deadSince !== undefined || !isThere) continue;
      for (const { job: of, token, id } of hub.atWork()) {
        if (of !== facts.name || (facts.row?.token === token && facts.row.phase === 'fanning')) continue;
        if (START + timeline.now() - (facts.wentOn.get(token) ?? -Infinity) < ENDED_WITHIN_MS) continue;
        observer.report('notTerminated', facts.name, `${id} still runs in ${name}, and no run waits for it`);
      }
    }
  }
}
