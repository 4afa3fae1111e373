import { isoOf } from '../../core/iso';
import type { Stretch } from '../../core/outcome';
import type { LeaseStore } from '../../lease/store';
import { operate } from '../../operator/audit';
import type { Options } from '../commands/command';
import { loadFile } from '../jobs-file';
import { answer, NO, OK, style, UsageError, warn } from '../output';
import { deskOf, openElections, openStore } from '../storage';
import { type ShowTime, timeHere, timesOf } from '../time';
import { actingOn } from './person';
import {
  type ElectionRecovery,
  recoverElections,
  type JobRecovery,
  recoverJobs,
} from '../../operator/operations/recover';
import { deploymentsOf } from '../../operator/views/deployments';

interface RecoverOptions extends Options {
  readonly raiseBy: number;
  readonly rerun?: boolean;
  readonly fail?: boolean;
  readonly apply?: boolean;
}

type Recovered = Extract<JobRecovery, { kind: 'recovered' }>;

/** `cronlease recover`: repairs the jobs after their storage account has failed over. */
export async function recover(options: RecoverOptions): Promise<number> {
  if (options.rerun === true && options.fail === true) throw new UsageError('--rerun and --fail exclude each other');
  const runs = options.rerun === true ? 'rerun' : options.fail === true ? 'fail' : 'resume';
  const { jobsFile: file } = loadFile(options);
  const asked = options.until === undefined ? undefined : timeHere(options.until, '--until', options);
  const apply = options.apply === true || options.yes === true;
  const desk = deskOf(openStore(options));
  const show = timesOf(options);
  await warnOfLive(desk.store, show);
  const { raiseBy } = options;
  const all = async () => {
    const { until, jobs } = await recoverJobs(desk, { file, until: asked, raiseBy, runs, apply });
    const elections = await recoverElections(openElections(options), { raiseBy, apply });
    return { until, jobs, elections };
  };
  const recorded = async () =>
    operate(await actingOn(desk.store), 'recover', 'jobs', async () => {
      const answer = await all();
      const { jobs, elections } = answer;
      const counts = { jobs: jobs.length, elections: elections.length, refused: refusedOf([...jobs, ...elections]) };
      return { answer, after: { until: isoOf(answer.until), raiseBy, runs, ...counts } };
    });
  const { until, jobs, elections } = await (apply ? recorded() : all());
  const refused = refusedOf([...jobs, ...elections]);
  const document = {
    applied: apply,
    until: isoOf(until),
    jobs: jobs.map(shape),
    elections: elections.map(electionShape),
  };
  const done =
    refused === 0
      ? 'Done: start the deployments again.'
      : `Not done for ${refused} of ${jobs.length + elections.length}: correct the cause, and repeat this command before any deployment starts.`;
  answer(options, document, () =>
    [
      `Due times until ${show(until)} without a record may have run, and do not run again.`,
      '',
      ...jobs.flatMap((job) => lines(job, show)),
      ...elections.map(electionLine),
      '',
      apply ? done : DRY_RUN,
    ].join('\n'),
  );
  return refused === 0 ? OK : NO;
}

const DRY_RUN = 'Dry run: nothing was written. Stop every deployment, then repeat this command with --apply.';

function refusedOf(all: readonly (JobRecovery | ElectionRecovery)[]): number {
  return all.filter(({ kind }) => kind === 'refused').length;
}

/** Warns of deployments that ticked recently. After a failover, this may be out of date like everything else. */
async function warnOfLive(store: LeaseStore, show: ShowTime): Promise<void> {
  const { deployments } = deploymentsOf(await store.listPresences());
  const live = deployments.filter(({ lately }) => lately);
  if (live.length === 0) return;
  const when = live.map(({ name, tickedAt }) => `${name} at ${show(tickedAt)}`).join(', ');
  warn(
    `these deployments ticked recently: ${when}. None may run until the jobs are recovered: make sure they are stopped`,
  );
}

function lines(job: JobRecovery, show: ShowTime): readonly string[] {
  if (job.kind === 'refused') return [`${style('bold', job.job)}  ${style('red', 'not done')}: ${job.problem}`];
  const { token, cursor, run, stretches, abandoned, notices, inFile, isNew } = job;
  const moved = cursor.from === cursor.to ? show(cursor.to) : `${show(cursor.from)} -> ${show(cursor.to)}`;
  return [
    `${style('bold', job.job)}  token ${token.from} -> ${token.to}, cursor ${moved}`,
    ...(isNew ? ['  its row was lost: a new one is created'] : []),
    ...(inFile
      ? []
      : ['  not in the jobs file, so its due times are not known: only its token and its run are corrected']),
    ...(run === undefined ? [] : [`  run ${run.runId} ${becomes(run)}`]),
    ...stretches.map((stretch) => `  ${stretchText(stretch, show)}`),
    ...abandoned.map((runId) => `  run ${runId} had begun, and its end is lost: failed (failedOver)`),
    ...notices.map((notice) => `  ${noticeText(notice)}`),
  ];
}

function electionLine(recovery: ElectionRecovery): string {
  const name = `election ${style('bold', recovery.election)}`;
  if (recovery.kind === 'refused') return `${name}  ${style('red', 'not done')}: ${recovery.problem}`;
  return `${name}  token ${recovery.token.from} -> ${recovery.token.to}`;
}

function electionShape(recovery: ElectionRecovery): object {
  const { election } = recovery;
  if (recovery.kind === 'refused') return { election, error: { code: recovery.code, message: recovery.problem } };
  return { election, token: recovery.token };
}

function becomes(run: NonNullable<Recovered['run']>): string {
  switch (run.kind) {
    case 'settled':
      return 'has ended, by its ledger record';
    case 'goesOn':
      return 'was interrupted: its next attempt follows with the next tick';
    case 'waits':
      return 'waits for its next attempt, as before';
    case 'ends':
      return `ends as ${run.outcome} (${run.reason})`;
  }
}

function stretchText({ outcome, reason, from, through, count, request }: Stretch, show: ShowTime): string {
  if (request !== undefined) return `the manual run of ${show(from)}: ${outcome} (${reason})`;
  const what =
    count === 1 ? `due time ${show(from)}` : `${count} due times from ${show(from)} through ${show(through)}`;
  return `${what}: ${outcome} (${reason})`;
}

function noticeText({ change, runId, to }: Recovered['notices'][number]): string {
  const what = `the notice "${change}" of run ${runId}`;
  return to.length === 0
    ? `${what} is dropped: the jobs file names no receivers for this job`
    : `${what} was not created: the first deployment that ticks sends it to ${to.join(', ')}`;
}

function shape(job: JobRecovery): object {
  if (job.kind === 'refused') return { job: job.job, error: { code: job.code, message: job.problem } };
  const { inFile, isNew, token, cursor, run, stretches, abandoned, notices } = job;
  return {
    job: job.job,
    inFile,
    isNew,
    token,
    cursor: { from: isoOf(cursor.from), to: isoOf(cursor.to) },
    run: run === undefined ? null : runShape(run),
    dueTimes: stretches.filter(({ request }) => request === undefined).map(stretchShape),
    manualRuns: stretches.filter(({ request }) => request !== undefined).map(stretchShape),
    abandoned,
    notices: notices.map((notice) => ({ ...notice, dropped: notice.to.length === 0 })),
  };
}

function runShape(run: NonNullable<Recovered['run']>): object {
  const { runId, kind: becomes } = run;
  return run.kind === 'ends' ? { runId, becomes, outcome: run.outcome, reason: run.reason } : { runId, becomes };
}

function stretchShape({ outcome, reason, from, through, count, request }: Stretch): object {
  if (request !== undefined) return { id: request, time: isoOf(from), outcome, reason };
  return { from: isoOf(from), through: isoOf(through), count, outcome, reason };
}
