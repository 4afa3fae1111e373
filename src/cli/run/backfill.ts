import type { BackfillOrder } from '../../core/backfill';
import { isoOf } from '../../core/iso';
import type { JobSpec } from '../../core/job';
import type { LeaseStore } from '../../lease/store';
import type { BackfillStatus } from '../../manage/schema/jobs';
import type { BackfillPlan, WantedBackfill } from '../../operator/operations/backfill';
import * as operations from '../../operator/operations/backfill';
import type { Options } from '../commands/command';
import { jobIn, loadFile } from '../jobs-file';
import { answer, OK, print, printJson, UsageError } from '../output';
import { paintOutcome } from '../show/record-text';
import { openStore, withinSweep } from '../storage';
import { parseTime, type ShowTime, timesOf } from '../time';
import { targetOf } from './operate';
import { actingOn, confirmYes } from './person';

interface BackfillOptions extends Options {
  readonly from?: string;
  readonly to?: string;
  readonly order: BackfillOrder;
  readonly limit?: number;
  readonly includeSucceeded?: boolean;
  readonly dryRun?: boolean;
  readonly status?: boolean;
  readonly stop?: boolean;
}

const PRINTED = 20;

export async function backfill(job: string, options: BackfillOptions): Promise<number> {
  if (options.stop === true) return stop(job, options);
  const spec = jobIn(loadFile(options), job, options);
  const store = openStore(options);
  if (options.status === true) return status(store, spec, options);
  const wanted = wantedOf(spec, options);
  const plan = await operations.planBackfill(store, spec, wanted);
  if (options.json !== true) print(planText(spec, wanted, plan, timesOf(options)));
  const { running, skipped } = plan;
  const dueTimes = plan.dueTimes.map((due) => ({ ...due, scheduledFor: isoOf(due.scheduledFor) }));
  const shown = { running, skipped, dueTimes };
  if (options.dryRun === true) {
    if (options.json) printJson({ job, started: null, ...shown });
    return OK;
  }
  if (running > 0) await confirmYes('Start it? (yes/no) ', options.yes === true);
  const { id, paused } = await operations.backfill(await actingOn(store, options.note), spec, wanted);
  const when = paused ? 'It waits, because the job is paused or disabled.' : `It begins ${withinSweep(options)}.`;
  const text = `Started back-fill ${id}. ${when} To follow it:\n  cronlease backfill ${job} --status`;
  return answer(options, { job, started: id, ...shown }, () => text);
}

function wantedOf(spec: JobSpec, { from, to, order, limit, includeSucceeded }: BackfillOptions): WantedBackfill {
  if (from === undefined) {
    throw new UsageError('--from is missing: give the oldest due time, or use --status or --stop');
  }
  const wanted: WantedBackfill = {
    from: parseTime(from, '--from')(spec.timeZone),
    to: to === undefined ? undefined : parseTime(to, '--to')(spec.timeZone),
    order,
    limit,
    includeSucceeded: includeSucceeded === true,
  };
  if (wanted.to !== undefined && wanted.to < wanted.from) throw new UsageError('--to is before --from: swap them');
  return wanted;
}

function planText({ name }: JobSpec, { order }: WantedBackfill, plan: BackfillPlan, show: ShowTime): string {
  const lines = plan.dueTimes.slice(0, PRINTED).map(({ scheduledFor, outcome, runs }) => {
    const known = outcome === null ? 'no record' : outcome === 'running' ? 'in progress' : paintOutcome(outcome);
    return `  ${show(scheduledFor)}  ${runs ? 'runs' : 'skipped'}: ${known}`;
  });
  const more = plan.dueTimes.length - lines.length;
  return [
    `Back-fill of ${name}, the ${order} first: ${counted(plan)}`,
    ...lines,
    ...(more > 0 ? [`  … and ${more.toLocaleString('en-US')} more`] : []),
  ].join('\n');
}

function counted({ running, skipped }: Pick<BackfillPlan, 'running' | 'skipped'>): string {
  const runs = `${running.toLocaleString('en-US')} due ${running === 1 ? 'time runs' : 'times run'}`;
  const succeeded = skipped.toLocaleString('en-US');
  return skipped === 0 ? runs : `${runs}, and ${succeeded} ${skipped === 1 ? 'has' : 'have'} succeeded`;
}

async function status(store: LeaseStore, spec: JobSpec, options: BackfillOptions): Promise<number> {
  const found = await operations.readBackfillStatus(store, spec);
  const document = { job: spec.name, backfill: found ?? null };
  return answer(options, document, () =>
    found === undefined ? `Job ${spec.name} has no back-fill.` : statusText(spec, found, timesOf(options)),
  );
}

const STATES: Readonly<Record<BackfillStatus['state'], string>> = {
  active: 'in progress',
  paused: 'waits, because the job is paused or disabled',
  stopping: 'stops after its run in progress',
  stopped: 'stopped',
  scheduleChanged: 'ended, because the schedule has changed',
  done: 'done',
};

function statusText({ name }: JobSpec, found: BackfillStatus, show: ShowTime): string {
  const { id, state, from, through, order, origin, at, dueTimes, left, skipped, outcomes, runId } = found;
  const ends = Object.entries(outcomes).map(([outcome, count]) => `${count.toLocaleString('en-US')} ${outcome}`);
  return [
    `Back-fill ${id} of ${name}: ${STATES[state]}`,
    `  due times  ${show(Date.parse(from))} to ${show(Date.parse(through))}, the ${order} first`,
    `  requested  ${show(Date.parse(at))} by ${origin.actor}`,
    ...(origin.note === undefined ? [] : [`  note       ${origin.note}`]),
    `  done       ${String(dueTimes - left)} of ${String(dueTimes)}${skipped === 0 ? '' : `, ${String(skipped)} skipped`}`,
    `  outcomes   ${ends.length === 0 ? 'none yet' : ends.join(', ')}`,
    ...(runId === null ? [] : [`  running    ${runId}`]),
  ].join('\n');
}

async function stop(job: string, options: BackfillOptions): Promise<number> {
  const { store, subject } = await targetOf(job, options);
  const { id, stopped } = await operations.endBackfill(await actingOn(store, options.note), subject);
  const text = `Stopped back-fill ${id} of ${job}. A run in progress continues. To end it: cronlease cancel ${job}`;
  return answer(options, { job, id, stopped }, () => text);
}
