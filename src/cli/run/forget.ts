import type { LoadedJobs } from '../../config/load';
import type { JobName } from '../../core/brand';
import { jobsHash } from '../../core/presence';
import type { LeaseStore } from '../../lease/store';
import { operate } from '../../operator/audit';
import { forgetJob } from '../../operator/operations/forget';
import { OperatorError } from '../../operator/operator-error';
import { unknownAnywhere } from '../../operator/subject';
import { deploymentsOf } from '../../operator/views/overview';
import { atHand, DEFAULT_FILE, type FileOptions, loadFile } from '../jobs-file';
import { OK, print, printJson, warn } from '../output';
import { openStore, type StorageOptions } from '../storage';
import { type TimeOptions, timesOf } from '../time';
import { afterwards } from './afterwards';
import { actingOn } from './person';

export interface ForgetOptions extends FileOptions, StorageOptions, TimeOptions {
  readonly endRun?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** `cronlease forget`: removes what remains of a job that was deleted from jobs.json. */
export async function forget(job: string, options: ForgetOptions): Promise<number> {
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
  const { forgottenAt, already, endedRun, dropped } = await operate(acting, 'forget', job, async () => {
    const answer = await forgetJob(acting, request);
    const after = {
      forgottenAt: new Date(answer.forgottenAt).toISOString(),
      endedRun: answer.endedRun ?? null,
      droppedNotices: answer.dropped,
    };
    return { answer, after };
  });
  await warnOfOthers(store, file, job);
  if (options.json) {
    const droppedNotices = dropped;
    return printJson({
      job,
      forgottenAt: new Date(forgottenAt).toISOString(),
      already,
      endedRun: endedRun ?? null,
      droppedNotices,
    });
  }
  const ended = endedRun === undefined ? '' : ` Run ${endedRun} is recorded as cancelled.`;
  const since = already ? `was forgotten at ${timesOf(options)(forgottenAt)} already` : 'is forgotten';
  const unsent = dropped.map(
    ({ change, runId }) =>
      ` The notice "${change}" of run ${runId} is dropped: its holder died or lost its lease before it, and no file names its receivers now.`,
  );
  print(
    `${job} ${since}. Its ledger and its token stay. If a file has the job again, it counts as a new one.${ended}${unsent.join('')}`,
  );
  return OK;
}

/** Another deployed file may still have the job, which then counts as a new one there, at once. */
async function warnOfOthers(store: LeaseStore, { jobsFile }: LoadedJobs, job: string): Promise<void> {
  const presences = await afterwards(() => store.listPresences());
  if (presences === undefined) return;
  const { deployments } = deploymentsOf(presences);
  const hash = jobsHash(jobsFile.jobs);
  const others = deployments.filter(({ lately, jobs }) => lately && jobs !== hash).map(({ name }) => name);
  if (others.length === 0) return;
  warn(
    `${others.join(' and ')} ticked recently with another jobs file: if that has "${job}", it counts as a new job there`,
  );
}
