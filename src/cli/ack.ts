import { acknowledge, unacknowledge } from '../operator/acknowledge';
import { listedAcknowledgement } from '../operator/job-status';
import { type OperateOptions, type ReasonedOptions, targetOf } from './operate';
import { OK, print, printJson } from './output';
import { userName } from './person';
import { recordedChange } from './recorded';
import { plannedEnd, timesOf } from './time';

export interface AckOptions extends OperateOptions {
  readonly note?: string | undefined;
  readonly by?: string | undefined;
  /** A time, or how long from now. */
  readonly until?: string | undefined;
}

/** `cronlease ack`: acknowledges the failures of a job until its next success. */
export async function ack(job: string, options: AckOptions): Promise<number> {
  const note = options.note?.trim() ?? '';
  const by = options.by ?? userName();
  const untilIn = plannedEnd(options.until, Date.now());
  const { store, subject } = await targetOf(job, options);
  const { name } = subject;
  const until = untilIn(subject.spec?.timeZone ?? 'UTC');
  const what = { action: 'ack', target: name, ...(note === '' ? {} : { note }) } as const;
  const { episode, acknowledgement } = await recordedChange(store, what, async () => {
    const result = await acknowledge(store, subject, { by, note, until });
    const before = result.before && listedAcknowledgement(result.before);
    return { result, before, after: listedAcknowledgement(result.acknowledgement) };
  });
  if (options.json) {
    printJson({ job: name, ...listedAcknowledgement(acknowledgement) });
    return OK;
  }
  const show = timesOf(options);
  const { failures, since, isWhole } = episode;
  const start = `since ${isWhole ? '' : 'before '}${show(since)}`;
  const runs = failures === 1 ? '1 failed run' : `${String(failures)} failed runs`;
  const of = failures === 0 ? `overdue ${start}` : `${runs} ${start}`;
  const end = until === undefined ? '' : `, or at ${show(until)}`;
  print(`Acknowledged ${name}: ${of}. This ends with its next success${end}.\nTo remove it: cronlease unack ${name}`);
  return OK;
}

/** `cronlease unack`: removes the acknowledgement. */
export async function unack(job: string, options: ReasonedOptions): Promise<number> {
  const { store, subject } = await targetOf(job, options);
  const { name } = subject;
  const removed = await recordedChange(store, { action: 'unack', target: name, note: options.note }, async () => {
    const result = listedAcknowledgement(await unacknowledge(store, subject));
    return { result, before: result, after: null };
  });
  if (options.json) printJson({ job: name, ...removed });
  else print(`Removed the acknowledgement of ${name} by ${removed.by}.`);
  return OK;
}
