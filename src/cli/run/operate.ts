import type { LoadedJobs } from '../../config/load';
import type { JobName } from '../../core/brand';
import { formatDuration } from '../../core/duration';
import { isoOf } from '../../core/iso';
import { marginOf } from '../../core/job';
import { jobsHash } from '../../core/presence';
import { showSpan } from '../../core/show-time';
import { counted } from '../../core/text';
import type { LeaseStore } from '../../lease/store';
import { operate } from '../../operator/audit';
import * as acknowledging from '../../operator/operations/acknowledge';
import * as cancelling from '../../operator/operations/cancel';
import * as fleet from '../../operator/operations/fleet';
import { forgetJob } from '../../operator/operations/forget';
import { type HeldLease, heldLease, unlockJob } from '../../operator/operations/unlock';
import { OperatorError } from '../../operator/operator-error';
import { type Subject, subjectOf, unknownAnywhere } from '../../operator/subject';
import type { Options } from '../commands/command';
import { atHand, DEFAULT_FILE, fileAtHand, loadFile } from '../jobs-file';
import { answer, say, UsageError, warn } from '../output';
import { openStore, withinSweep } from '../storage';
import { plannedEnd, type ShowTime, timesOf } from '../time';
import { actingOn, afterwards, confirm } from './person';
import { deploymentsOf } from '../../operator/views/deployments';

export interface Target {
  readonly store: LeaseStore;
  readonly subject: Subject;
}

export async function targetOf(job: string, options: Options): Promise<Target> {
  const file = fileAtHand(options);
  const store = openStore(options);
  return { store, subject: await subjectOf(store, job, file) };
}

export async function cancel(job: string, options: Options): Promise<number> {
  const file = fileAtHand(options);
  const store = openStore(options);
  const subject = await subjectOf(store, job, file);
  const acting = await actingOn(store, options.note);
  const { runId, requestedAt, endedBy } = await cancelling.cancel(acting, subject, { hasFile: file !== undefined });
  const leaseMs = subject.spec?.leaseMs;
  const third = leaseMs === undefined ? 'a third of its lease' : showSpan(leaseMs / 3);
  const texts = {
    caller: `Ended run ${runId} as cancelled: the job is not in this jobs file, and no instance would end it.`,
    holder: `Requested the end of run ${runId}: its instance ends it at the next renewal of its lease, within ${third}.`,
    tick: `Requested the end of run ${runId}: no attempt runs now, and the next tick ends it.`,
  };
  return answer(options, { job, runId, requestedAt }, () => texts[endedBy]);
}

export async function ack(job: string, options: Options): Promise<number> {
  const untilIn = plannedEnd(options.until, Date.now());
  const { store, subject } = await targetOf(job, options);
  const { name } = subject;
  const until = untilIn(subject.spec?.timeZone ?? 'UTC');
  const acting = await actingOn(store, options.note?.trim() || undefined);
  const { incident, acknowledgement } = await acknowledging.ack(acting, subject, { by: options.by, until });
  return answer(options, { job: name, ...acknowledgement }, () => {
    const show = timesOf(options);
    const { failures, since, isWhole } = incident;
    const start = `since ${isWhole ? '' : 'before '}${show(since)}`;
    const of = failures === 0 ? `overdue ${start}` : `${counted(failures, 'failed run')} ${start}`;
    const end = until === undefined ? '' : `, or at ${show(until)}`;
    return `Acknowledged ${name}: ${of}. This ends with its next success${end}.\nTo remove it: cronlease unack ${name}`;
  });
}

export async function unack(job: string, options: Options): Promise<number> {
  const { store, subject } = await targetOf(job, options);
  const { job: name, acknowledgement } = await acknowledging.unack(await actingOn(store, options.note), subject);
  const text = `Removed the acknowledgement of ${name} by ${acknowledgement.by}.`;
  return answer(options, { job: name, ...acknowledgement }, () => text);
}

/** The reason that a command demands. */
export function reasonOf({ note = '' }: Options, what: string): string {
  const reason = note.trim();
  if (reason === '') throw new UsageError(`--note is empty: give the reason of the ${what}`);
  return reason;
}

export async function cordon(deployment: string, options: Options): Promise<number> {
  const note = reasonOf(options, 'cordon');
  const store = openStore(options);
  const acting = await actingOn(store, note);
  const { by, since } = (await fleet.cordon(acting, deployment, options.by)).cordon;
  const others = await afterwards(() => fleet.claimingDeployments(store));
  if (others?.length === 0) {
    warn('no live deployment is left that may claim: nothing runs until one is uncordoned or started');
  }
  const left = others === undefined || others.length === 0 ? '' : ` Its jobs are left to ${others.join(', ')}.`;
  return answer(
    options,
    { deployment, by, note, since },
    () =>
      `Cordoned ${deployment} at ${timesOf(options)(Date.parse(since))}. It claims nothing new ${withinSweep(options)}; ` +
      `what it runs continues, retries included.${left}\nTo lift the cordon: cronlease uncordon ${deployment}`,
  );
}

export async function uncordon(deployment: string, options: Options): Promise<number> {
  const store = openStore(options);
  const { by, note, since } = (await fleet.uncordon(await actingOn(store, options.note), deployment)).cordon;
  const after = showSpan(Math.max(0, Date.now() - Date.parse(since)));
  const text = (): string =>
    `Lifted the cordon of ${deployment} after ${after}. It claims again ${withinSweep(options)}.`;
  return answer(options, { deployment, by, note, since }, text);
}

export async function unlock(job: string, options: Options): Promise<number> {
  const { store, subject } = await targetOf(job, options);
  const { name, spec } = subject;
  const held = await heldLease(store, name);
  const show = timesOf(options);
  if (options.yes !== true) say(`${consequences(held, spec?.leaseMs, show)}\n`);
  await confirm(job, options.yes === true);
  const { runId = null, holder = null } = held;
  const { leftMs } = await operate(await actingOn(store), 'unlock', job, async () => {
    const answer = await unlockJob(store, held);
    return { answer, before: { runId, holder }, after: { endsInMs: answer.leftMs } };
  });
  const until = Math.ceil((Date.now() + leftMs) / 1000) * 1000;
  const patience =
    spec === undefined ? 'a lease and its margin' : formatDuration(spec.leaseMs + marginOf(spec.leaseMs));
  return answer(
    options,
    { job, runId, holder, endsInMs: leftMs },
    () =>
      `Broke the lease of ${job}: it can no longer be renewed, and ends at ${show(until)}. ` +
      `A tick takes the job over once it has seen the broken lease for ${patience}.`,
  );
}

/** The consequences of an unlock, to read before the confirmation. */
function consequences(
  { job, runId, holder, attempt, since }: HeldLease,
  leaseMs: number | undefined,
  show: ShowTime,
): string {
  const who = holder === undefined ? 'An instance' : `An instance of ${holder}`;
  const what = runId === undefined ? '' : `, with attempt ${attempt} of run ${runId}`;
  const when = since === undefined ? '' : ` since ${show(since)}`;
  const third = leaseMs === undefined ? 'a third of the lease' : `a third of the lease (${showSpan(leaseMs / 3)})`;
  return [
    `${who} holds the lease of ${job}${what}${when}.`,
    `Breaking it interrupts the run: the holder finds out at its next renewal, at most ${third} from now, and aborts`,
    "its handler's signal. A holder that is cut off from storage may continue until its trust in the lease ends. Only",
    'after that does another instance take the job over and retry the run. Work that the handler did without its fence',
    'may then be done twice.',
  ].join('\n');
}

/** `cronlease forget`: removes what remains of a job that was deleted from jobs.json. */
export async function forget(job: string, options: Options & { readonly endRun?: boolean }): Promise<number> {
  const name = job as JobName;
  const file = loadFile(options);
  if (file.jobsFile.jobs.some((spec) => spec.name === name)) {
    throw new OperatorError(
      'StillInFile',
      `job "${job}" is in ${options.file ?? DEFAULT_FILE}: remove it there, deploy that file everywhere, and repeat this command`,
    );
  }
  const acting = await actingOn(openStore(options));
  const { store } = acting;
  const { jobs } = await store.list();
  if (!jobs.has(name)) {
    throw unknownAnywhere(job, atHand(file, options), { location: store.location, jobs: jobs.keys() });
  }
  const request = { job: name, revision: file.jobsFile.revision, endRun: options.endRun === true };
  const forgotten = await operate(acting, 'forget', job, async () => {
    const answer = await forgetJob(acting, request);
    const { forgottenAt, endedRun = null, dropped: droppedNotices } = answer;
    return { answer, after: { forgottenAt: isoOf(forgottenAt), endedRun, droppedNotices } };
  });
  await warnOfOthers(store, file, job);
  const { forgottenAt: at, already, endedRun = null, dropped: droppedNotices } = forgotten;
  const forgottenAt = isoOf(at);
  return answer(options, { job, forgottenAt, already, endedRun, droppedNotices }, () => {
    const ended = endedRun === null ? '' : ` Run ${endedRun} is recorded as cancelled.`;
    const since = already ? `was forgotten at ${timesOf(options)(at)} already` : 'is forgotten';
    const unsent = droppedNotices.map(
      ({ change, runId }) =>
        ` The notice "${change}" of run ${runId} is dropped: its holder died or lost its lease before it, and no file names its receivers now.`,
    );
    return `${job} ${since}. Its ledger and its token stay. If a file has the job again, it counts as a new one.${ended}${unsent.join('')}`;
  });
}

/** Another deployed file may still have the job, which then counts as a new one there, at once. */
async function warnOfOthers(store: LeaseStore, { jobsFile }: LoadedJobs, job: string): Promise<void> {
  const presences = await afterwards(() => store.listPresences());
  if (presences === undefined) return;
  const hash = jobsHash(jobsFile.jobs);
  const others = deploymentsOf(presences).deployments.filter(({ lately, jobs }) => lately && jobs !== hash);
  if (others.length === 0) return;
  const names = others.map(({ name }) => name).join(' and ');
  warn(`${names} ticked recently with another jobs file: if that has "${job}", it counts as a new job there`);
}
