import { recordKey } from '../../../src/core/key';
import type { JobSpec } from '../../../src/core/job';
import type { Row } from '../../../src/core/row';
import { type ClaimFact, type JobFacts, isFinal, isRequest, keyText, marginOf, short } from '../world/facts';
import { keptSinceAt } from './failover';
import { checkBackfillsEnded, isBackfilling } from './backfill';
import { checkWaited } from './requires';
import { firstSpec } from '../faults/plan-job';
import { START, type World } from '../world/world';

/** With clocks up to 2 s off, and other deployments' hold-back. */
const LATENESS_MS = 4_000;
/** A due time so near the end may still be in progress. */
const ON_ITS_WAY_MS = 20_000;
/** A job that is due this often is late without any fault. */
const BUSY_MS = 5_000;
/** The calls, one after another, from one start in a backlog to the next. */
const CALLS_A_BACKLOG_RUN = 12;
/** The time of one run in a backlog, from its claim to the next, in which items are sent out and gathered. */
const BACKLOG_RUN_MS = 2_000;
const TICK_MS = 15_000;
const SWEEP_MS = 60_000;
/** A probe that does not come through is sent again after this time, at the next tick. */
const PROBE_AGAIN_MS = 30_000;
/** The longest gap between two terms, or two runs of a job that is due all the time. */
const ALWAYS_WITHIN_MS = 2 * TICK_MS + 10_000;

interface Phases {
  /** When the faults ended. */
  readonly quietFrom: number;
  /** When everything from before was settled. */
  readonly calmFrom: number;
}

/** Whether every claim and every due time from before the end of the faults has ended. */
export function isSettled(world: World, quietFrom: number): boolean {
  // An instance that is still stopping will be gone for a while, and a probe that was lost or is late is sent again
  // later.
  const served = world.deployments.some(({ deadSince, instances, ticking, hub }) => {
    const there = instances.filter(({ process, leaving }) => !process.dead && !leaving);
    const proven = there.every((one) => one !== ticking || !one.coordinator.health.troubles.has('hub'));
    const answers = world.timeline.now() > (hub.probingSince() ?? -Infinity) + PROBE_AGAIN_MS + TICK_MS;
    return deadSince === undefined && there.length > 0 && proven && answers;
  });
  if (!served) return false;
  return world.plan.jobs.every((job) => {
    const facts = world.observer.jobs.get(firstSpec(job).name);
    const spec = currentSpec(world, job.index);
    if (facts?.row === undefined || spec === undefined) return false;
    return isJobSettled(world, facts, spec, quietFrom);
  });
}

/**
 * The time that the backlog at the end of the faults takes. With catchUp `all`, the due times of a whole outage run one
 * after another, and a job that fans out every 2 s takes more than a second for each.
 */
export function backlogMs(world: World, quietFrom: number): number {
  const runMs = BACKLOG_RUN_MS + CALLS_A_BACKLOG_RUN * slowestCallMs(world);
  const backlogs = world.plan.jobs.map((job) => {
    const spec = currentSpec(world, job.index);
    const row = world.observer.jobs.get(firstSpec(job).name)?.row;
    if (row === undefined || spec?.kind !== 'timed' || !spec.enabled || spec.catchUp !== 'all') return 0;
    let waiting = 0;
    let due = spec.timetable.next(Math.max(row.cursor, quietFrom - spec.catchUpWindowMs));
    for (; due !== undefined && due + spec.offsetMs < quietFrom; due = spec.timetable.next(due)) waiting += 1;
    return waiting * runMs;
  });
  // Instances that run one handler at once, and groups of jobs, work on all backlogs in turn.
  if (world.plan.maxConcurrentRuns !== undefined || world.observer.groups.size > 0)
    return backlogs.reduce((sum, ms) => sum + ms, 0);
  return Math.max(0, ...backlogs);
}

function isJobSettled(world: World, facts: JobFacts, spec: JobSpec, quietFrom: number): boolean {
  const now = START + world.timeline.now();
  const { row } = facts;
  if (row === undefined || row.scheduleHash !== spec.scheduleHash) return false;
  if (row.run !== undefined && row.run.since < quietFrom && row.phase !== 'idle') {
    if (!isFinal(facts, row.run.key) && !isForgotten(facts, spec, row.run.key)) return false;
  }
  // A holder that died before its release keeps the next due time waiting until its lease expires.
  const { run } = row;
  if (run !== undefined && run.since < quietFrom && facts.lease !== undefined && facts.lease.until > now) return false;
  // After a broken lease, no one acquires before its holder must have noticed.
  const { lease } = facts;
  if (lease?.broken === true && lease.until + spec.leaseMs + marginOf(spec.leaseMs) + TICK_MS > now) return false;
  for (const [key, { writtenAt, record }] of facts.records) {
    if (record.state === 'open' && writtenAt < quietFrom && key !== row.run?.key) return false;
  }
  // Only a sweep shows that a pause is over.
  const changedAt = facts.controls.at(-1)?.at ?? 0;
  if (spec.enabled && now - changedAt < SWEEP_MS + TICK_MS) return false;
  const last = facts.controls.at(-1)?.control;
  if (last?.pauses.some(({ until = Infinity }) => until > now - SWEEP_MS) === true) return false;
  if (
    spec.kind !== 'always' &&
    (last?.manualRuns ?? []).some(({ number, time }) => number > row.manualTaken && time < quietFrom)
  )
    return false;
  if (spec.kind !== 'timed' || !spec.enabled) return true;
  if (isBackfilling(facts, spec)) return false;
  const due = spec.timetable.next(row.cursor);
  if (due === undefined) return true;
  // Where each call takes long, the due times that came since the faults ended may outrun the backlog.
  return due + spec.offsetMs >= quietFrom && (slowestCallMs(world) > 0 || !isBehind(row, spec, due, now));
}

/**
 * Whether a backlog goes on with the due times that came since the faults ended: its current run began when the next
 * due time had already come.
 */
function isBehind({ run, phase }: Row, spec: JobSpec, due: number, now: number): boolean {
  if (spec.catchUp !== 'all' || spec.requires.length > 0 || isBusy(spec)) return false;
  const since = run !== undefined && phase !== 'idle' ? run.since : now;
  return due + spec.offsetMs + LATENESS_MS < since;
}

/** The time that each call of the slowest instance takes besides the usual, with and without faults. */
function slowestCallMs({ plan }: World): number {
  return Math.max(0, ...plan.instances.map(({ slowMs = 0 }) => slowMs));
}

/** The rules for the time after the faults, once it was quiet for a while. */
export function checkEnd(world: World, phases: Phases): void {
  const end = START + world.timeline.now();
  for (const job of world.plan.jobs) {
    const facts = world.observer.jobs.get(firstSpec(job).name);
    const spec = currentSpec(world, job.index);
    if (facts === undefined || spec === undefined) continue;
    if (facts.row === undefined) {
      world.observer.report('noRow', facts.name, 'its row was never created');
      continue;
    }
    if (phases.calmFrom === Infinity && isJobSettled(world, facts, spec, phases.quietFrom)) continue;
    checkSettled(world, facts, spec, phases);
    checkOutcomes(world, facts, spec, phases);
    checkBackfillsEnded(facts, spec, world.observer.report);
    if (phases.calmFrom === Infinity) continue;
    checkPunctual(world, facts, spec, phases, end);
    checkReleased(world, facts, phases, end);
  }
}

function currentSpec(world: World, index: number): JobSpec | undefined {
  const newest = Math.max(...world.deployments.map(({ revision }) => revision));
  return world.plan.jobs.find((job) => job.index === index)?.specs[newest];
}

function checkSettled({ observer }: World, facts: JobFacts, spec: JobSpec, { quietFrom }: Phases): void {
  const { name, row, records, claims } = facts;
  for (const [key, { record, writtenAt }] of records) {
    if (record.state === 'open' && writtenAt < quietFrom && !isForgotten(facts, spec, key)) {
      observer.report('leftOpen', name, `record ${keyText(key)} is still open`);
    }
  }
  for (const claim of claims.values()) {
    const { run } = claim.row;
    if (run === undefined || run.since >= quietFrom || isFinal(facts, run.key)) continue;
    if (wasOverBefore(facts, claim) || isForgotten(facts, spec, run.key)) continue;
    const phase = row?.run?.key === run.key ? row.phase : 'behind';
    observer.report('leftOpen', name, `run ${keyText(run.key)} is left ${phase} and has no final record`);
    return;
  }
  const waiting =
    facts.controls.at(-1)?.control.manualRuns.filter(({ number }) => number > (row?.manualTaken ?? 0)) ?? [];
  for (const { id, time } of waiting) {
    // A leader job takes no requests: those from before it became one stay.
    if (spec.kind !== 'always' && time < quietFrom)
      observer.report('requestForgotten', name, `request ${id} of ${short(time)} was never taken`);
  }
}

/**
 * Whether a claim's run was over before a failover in which its record may be lost. The outcomes of due times are
 * counted anyway, and requests are checked after the recovery. No trace may be left of a term, or of a request that is
 * gone from the control too.
 */
function wasOverBefore({ failedOver }: JobFacts, { at, row: { run } }: ClaimFact): boolean {
  return failedOver !== undefined && at < failedOver.at && run?.key !== failedOver.row?.run?.key;
}

/** Whether a run was by its row at work when a failover lost its lease, so long ago that its record may be deleted. */
function isForgotten({ failedOver }: JobFacts, spec: JobSpec, key: string): boolean {
  const { run, phase } = failedOver?.row ?? {};
  if (failedOver === undefined || run?.key !== key || phase !== 'running') return false;
  return run.since < keptSinceAt(failedOver, spec);
}

/** Every due time up to the end of the faults has exactly one outcome. */
function checkOutcomes(world: World, facts: JobFacts, spec: JobSpec, { quietFrom }: Phases): void {
  const { observer } = world;
  const { name, row } = facts;
  if (spec.kind !== 'timed' || row === undefined) return;
  if (spec.enabled) {
    const undecided = spec.timetable.next(row.cursor);
    if (undecided !== undefined && undecided + spec.offsetMs < quietFrom) {
      observer.report('undecided', name, `due time ${short(undecided)} is not decided`);
    }
  }
  // Two schedules of one revision skip each other's due times.
  if (world.plan.jobs.every(({ rival }) => rival === undefined)) checkReigns(world, facts, quietFrom);
}

/** Under whatever schedule was followed at the time. */
function checkReigns({ observer }: World, facts: JobFacts, quietFrom: number): void {
  const { name, records, reigns, row, specs, failedOver } = facts;
  if (row === undefined) return;
  const spans = [...records].filter(([key]) => !isRequest(key)).map(([, { span }]) => span);
  for (const [index, { hash, after }] of reigns.entries()) {
    const spec = specs.find(({ scheduleHash }) => scheduleHash === hash);
    const until = reigns[index + 1]?.after ?? row.cursor;
    if (spec?.kind !== 'timed' || !spec.enabled) continue;
    const keptSince = failedOver === undefined ? -Infinity : keptSinceAt(failedOver, spec);
    for (let due = spec.timetable.next(after); due !== undefined; due = spec.timetable.next(due)) {
      if (due > until || due + spec.offsetMs >= quietFrom) break;
      const at = due;
      const outcomes = spans.filter(([from, through]) => from <= at && at <= through).length;
      // Records that the row owes since the last claim are written with the next one, or by a sweep.
      const owed = row.owed.some(({ from, through }) => from <= at && at <= through);
      if (outcomes !== 1 && !owed && due >= keptSince) {
        observer.report(
          'notOneOutcome',
          name,
          `due time ${short(due)} (${recordKey(due)}) has ${String(outcomes)} outcomes`,
        );
      }
    }
  }
}

/** Without faults, every due time runs on time. */
function checkPunctual(
  world: World,
  facts: JobFacts,
  spec: JobSpec,
  { quietFrom, calmFrom }: Phases,
  end: number,
): void {
  const { observer } = world;
  const { name } = facts;
  if (!spec.enabled) return;
  const excused = excusesOf(facts, quietFrom);
  // It waits for others, and `checkTaken` sees that what it waits for comes.
  if (spec.group !== undefined) return;
  const slowMs = slowestCallMs(world);
  // Where each call takes long, a backlog does too.
  if (slowMs > 0 || isBusy(spec)) {
    // It is not known how much later than the required jobs it may be.
    if (spec.requires.length > 0) return;
    const last = Math.max(...[...facts.started.values()].map(({ at }) => at));
    if (last < end - ALWAYS_WITHIN_MS - CALLS_A_BACKLOG_RUN * slowMs && !excused(end)) {
      const what = last === -Infinity ? 'no handler of it has started' : `its last handler started at ${short(last)}`;
      observer.report('notPunctual', name, `${what}, and it is ${short(end)}`);
    }
    return;
  }
  if (spec.kind !== 'timed') return;
  const from = calmFrom + TICK_MS;
  for (let due = spec.timetable.next(from - spec.offsetMs); due !== undefined; due = spec.timetable.next(due)) {
    const actual = due + spec.offsetMs;
    if (actual > end - ON_ITS_WAY_MS) break;
    if (spec.requires.length > 0) {
      checkWaited(world, facts, { spec, due, excused, end });
      continue;
    }
    if (excused(actual)) continue;
    const record = facts.records.get(recordKey(due))?.record;
    const started = facts.started.get(`${recordKey(due)} 1`)?.at;
    if (record?.outcome !== 'succeeded' || started === undefined) {
      const what = record === undefined ? 'has no record' : `is ${String(record.outcome)} (${String(record.reason)})`;
      observer.report('notPunctual', name, `${short(due)} ${what} although nothing disturbs`);
    } else if (started - actual > LATENESS_MS) {
      const late = `${short(due)} ran ${(started - actual).toFixed(0)} ms late although nothing disturbs`;
      observer.report('notPunctual', name, late);
    }
  }
}

/** A settled row whose holder died before its release is released soon, and not by the next claim, months later. */
function checkReleased({ observer }: World, facts: JobFacts, { quietFrom }: Phases, end: number): void {
  const { name, row, lease } = facts;
  if (row?.run === undefined || row.phase !== 'running' || row.run.since >= quietFrom || lease === undefined) return;
  if (isFinal(facts, row.run.key) && lease.until < end - SWEEP_MS - TICK_MS) {
    observer.report(
      'leftUnreleased',
      name,
      `its lease ran out at ${short(lease.until)}, and its settled row is not released`,
    );
  }
}

function isBusy({ kind, timetable }: JobSpec): boolean {
  if (kind !== 'timed') return kind === 'always';
  const first = timetable.next(START);
  const second = first === undefined ? undefined : timetable.next(first);
  return first !== undefined && second !== undefined && second - first <= BUSY_MS;
}

/**
 * A due time is late while a useless lease lasts: a lease from a request that was in flight when the faults ended, or
 * from a deployment that had not yet noticed that its hub is dead.
 */
function excusesOf(facts: JobFacts, quietFrom: number): (instant: number) => boolean {
  const idle = [...facts.acquisitions.values()].filter(
    ({ actor, firstSentAt, at }) => at !== undefined && (firstSentAt < quietFrom || actor.hubDeadSince() !== undefined),
  );
  // The pause after too many failures may arrive long after the death of the holder that sent it.
  const paused = facts.controls.find(
    ({ at, control: { pauses } }) =>
      at >= quietFrom && pauses.some(({ by, since, until }) => by === 'cronlease' && !until && since < quietFrom),
  );
  return (instant) =>
    instant >= (paused?.at ?? Infinity) ||
    idle.some(
      ({ at = 0, provenAt, leaseMs }) =>
        instant >= at - TICK_MS && instant <= provenAt + leaseMs + TICK_MS + LATENESS_MS,
    );
}
