import * as operations from '../../operator/operations/acknowledge';
import { OK, print, printJson } from '../output';
import { plannedEnd, timesOf } from '../time';
import { type OperateOptions, type ReasonedOptions, targetOf } from './operate';
import { actingOn } from './person';

export interface AckOptions extends OperateOptions {
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
  const { incident, acknowledgement } = await operations.ack(acting, subject, { by: options.by, until });
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
  const { job: name, acknowledgement } = await operations.unack(await actingOn(store, options.note), subject);
  if (options.json) printJson({ job: name, ...acknowledgement });
  else print(`Removed the acknowledgement of ${name} by ${acknowledgement.by}.`);
  return OK;
}
