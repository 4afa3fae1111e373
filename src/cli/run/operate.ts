import { showSpan } from '../../core/show-time';
import type { LeaseStore } from '../../lease/store';
import * as acknowledging from '../../operator/operations/acknowledge';
import * as cancelling from '../../operator/operations/cancel';
import * as fleet from '../../operator/operations/fleet';
import { type Subject, subjectOf } from '../../operator/subject';
import { UsageError } from '../cli-error';
import { fileAtHand, type FileOptions } from '../jobs-file';
import { OK, print, printJson, warn } from '../output';
import { openStore, type StorageOptions, withinSweep } from '../storage';
import { plannedEnd, type TimeOptions, timesOf } from '../time';
import { afterwards } from './afterwards';
import { actingOn } from './person';

export interface OperateOptions extends FileOptions, StorageOptions, TimeOptions {
  readonly json?: boolean | undefined;
}

/** Options of a command whose change may have a reason. */
export interface ReasonedOptions extends OperateOptions {
  readonly note?: string | undefined;
}

export async function cancel(job: string, options: ReasonedOptions): Promise<number> {
  const file = fileAtHand(options);
  const store = openStore(options);
  const subject = await subjectOf(store, job, file);
  const acting = await actingOn(store, options.note);
  const { runId, requestedAt, endedBy } = await cancelling.cancel(acting, subject, { hasFile: file !== undefined });
  if (options.json) return printJson({ job, runId, requestedAt });
  if (endedBy === 'caller') {
    print(`Ended run ${runId} as cancelled: the job is not in this jobs file, and no instance would end it.`);
    return OK;
  }
  const leaseMs = subject.spec?.leaseMs;
  const third = leaseMs === undefined ? 'a third of its lease' : showSpan(leaseMs / 3);
  const how =
    endedBy === 'holder'
      ? `its instance ends it at the next renewal of its lease, within ${third}`
      : 'no attempt runs now, and the next tick ends it';
  print(`Requested the end of run ${runId}: ${how}.`);
  return OK;
}

export interface Target {
  readonly store: LeaseStore;
  readonly subject: Subject;
}

export async function targetOf(job: string, options: OperateOptions): Promise<Target> {
  const file = fileAtHand(options);
  const store = openStore(options);
  return { store, subject: await subjectOf(store, job, file) };
}

interface AckOptions extends OperateOptions {
  readonly note?: string | undefined;
  readonly by?: string | undefined;
  /** A time, or how long from now. */
  readonly until?: string | undefined;
}

export async function ack(job: string, options: AckOptions): Promise<number> {
  const untilIn = plannedEnd(options.until, Date.now());
  const { store, subject } = await targetOf(job, options);
  const { name } = subject;
  const until = untilIn(subject.spec?.timeZone ?? 'UTC');
  const acting = await actingOn(store, options.note?.trim() || undefined);
  const { incident, acknowledgement } = await acknowledging.ack(acting, subject, { by: options.by, until });
  if (options.json) return printJson({ job: name, ...acknowledgement });
  const show = timesOf(options);
  const { failures, since, isWhole } = incident;
  const start = `since ${isWhole ? '' : 'before '}${show(since)}`;
  const runs = failures === 1 ? '1 failed run' : `${String(failures)} failed runs`;
  const of = failures === 0 ? `overdue ${start}` : `${runs} ${start}`;
  const end = until === undefined ? '' : `, or at ${show(until)}`;
  print(`Acknowledged ${name}: ${of}. This ends with its next success${end}.\nTo remove it: cronlease unack ${name}`);
  return OK;
}

export async function unack(job: string, options: ReasonedOptions): Promise<number> {
  const { store, subject } = await targetOf(job, options);
  const { job: name, acknowledgement } = await acknowledging.unack(await actingOn(store, options.note), subject);
  if (options.json) printJson({ job: name, ...acknowledgement });
  else print(`Removed the acknowledgement of ${name} by ${acknowledgement.by}.`);
  return OK;
}

interface UncordonOptions extends StorageOptions, TimeOptions {
  readonly note?: string | undefined;
  readonly json?: boolean | undefined;
}

interface CordonOptions extends UncordonOptions {
  readonly note: string;
  readonly by?: string | undefined;
}

export async function cordon(deployment: string, options: CordonOptions): Promise<number> {
  const note = options.note.trim();
  if (note === '') throw new UsageError('--note is empty: give the reason of the cordon');
  const store = openStore(options);
  const acting = await actingOn(store, note);
  const { by, since } = (await fleet.cordon(acting, deployment, options.by)).cordon;
  const others = await afterwards(() => fleet.claimingDeployments(store));
  if (others?.length === 0) {
    warn('no live deployment is left that may claim: nothing runs until one is uncordoned or started');
  }
  if (options.json) return printJson({ deployment, by, note, since });
  const left = others === undefined || others.length === 0 ? '' : ` Its jobs are left to ${others.join(', ')}.`;
  print(
    `Cordoned ${deployment} at ${timesOf(options)(Date.parse(since))}. It claims nothing new ${withinSweep(options)}; what it runs ` +
      `continues, retries included.${left}\nTo lift the cordon: cronlease uncordon ${deployment}`,
  );
  return OK;
}

export async function uncordon(deployment: string, options: UncordonOptions): Promise<number> {
  const store = openStore(options);
  const { by, note, since } = (await fleet.uncordon(await actingOn(store, options.note), deployment)).cordon;
  if (options.json) return printJson({ deployment, by, note, since });
  const after = showSpan(Math.max(0, Date.now() - Date.parse(since)));
  print(`Lifted the cordon of ${deployment} after ${after}. It claims again ${withinSweep(options)}.`);
  return OK;
}
