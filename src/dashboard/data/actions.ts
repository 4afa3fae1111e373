import type { Action, Choice, Scope } from '../parts/action-dialog';
import { ApiError, change } from './api';
import { go, pageOf } from './address';
import type { Job, Jobs, OneJob, OneRun, PausedMany, RunSummary } from '../../client/types';
import { reportSkippedTimes } from '../pages/skipped-times';
import type { Operation } from '../../client/operations';
import { plural } from './words';

type Controlled = Pick<OneJob, 'name' | 'controlVersion'>;

/** Carries an action out by one change of `of`. */
function makes(
  id: Operation,
  of: string,
  news: string,
  { body, version }: { readonly body?: object; readonly version?: string } = {},
): Action['carryOut'] {
  return async ({ note, until }) => {
    await change(id, [of], { ...body, note, until }, { version });
    return news;
  };
}

export function pauseJob({ name, controlVersion: version }: Controlled): Action {
  return {
    title: `Pause ${name}?`,
    effect: 'No due time starts a run until the pause ends. A run in progress continues.',
    label: 'Pause',
    verb: 'Pause job',
    decline: 'Leave it running',
    note: 'needed',
    until: 'until a person resumes it',
    carryOut: makes('pauseJob', name, `Job ${name} is paused`, { version }),
  };
}

export function resumeJob({ name, controlVersion: version }: Controlled): Action {
  return {
    title: `Resume ${name}?`,
    effect: 'Due times start runs again. Those of the pause are not run later.',
    label: 'Resume',
    verb: 'Resume job',
    decline: 'Leave it paused',
    async carryOut({ note }) {
      const { pause } = await change('resumeJob', [name], { note }, { version });
      await reportSkippedTimes([{ job: name, pause }], { job: name });
      return `Job ${name} is resumed`;
    },
  };
}

export function runJob({ name }: Pick<Job, 'name'>): Action {
  return {
    title: `Run ${name} now?`,
    effect: 'One run is requested. The schedule does not change, and a pause does not delay the run.',
    verb: 'Run now',
    decline: 'Do not run',
    input: 'the input of the job',
    async carryOut({ note, input, key }) {
      const { runId } = await change('runJob', [name], { note, input }, { key });
      go(pageOf({ run: runId }));
      return `A run of ${name} is requested`;
    },
  };
}

/** @param runs how many due times the dry run counted */
export function startBackfill(name: string, span: object, runs: number): Action {
  return {
    title: `Back-fill ${name}?`,
    effect: `${plural(runs, 'due time runs', 'due times run')}, one after another. Due times that pass meanwhile go first.`,
    verb: 'Start back-fill',
    decline: 'Do not run',
    carryOut: makes('startBackfill', name, `The back-fill of ${name} is started`, { body: span }),
  };
}

export function stopBackfill({ name, controlVersion: version }: Controlled): Action {
  return {
    title: `Stop the back-fill of ${name}?`,
    effect: 'Its run in progress continues. Its remaining due times do not run.',
    verb: 'Stop back-fill',
    decline: 'Let it run',
    note: 'none',
    carryOut: makes('stopBackfill', name, `The back-fill of ${name} is stopped`, { version }),
  };
}

/** @param earlier the input of the earlier run, if it is known */
export function rerun(runId: string, earlier: OneRun['input']): Action {
  return {
    title: 'Run this due time again?',
    effect: 'Another run is requested. Its handler sees the same due time.',
    verb: 'Run again',
    decline: 'Do not run',
    input: 'the input of the earlier run',
    // Masks must not become an input.
    ...(earlier !== undefined && !earlier.isRedacted && { filled: JSON.stringify(earlier.value, undefined, 2) }),
    async carryOut({ note, input, key }) {
      const answer = await change('rerun', [runId], { note, input }, { key });
      go(pageOf({ run: answer.runId }));
      return 'The run is requested';
    },
  };
}

/** Runs due times of several jobs again, one manual run for each. */
export function rerunAll(runs: readonly RunSummary[]): Action {
  const counts = new Map<string, number>();
  for (const { job } of runs) counts.set(job, (counts.get(job) ?? 0) + 1);
  const jobs = [...counts].map(([job, count]) => `${job}${count === 1 ? '' : ` (${String(count)})`}`).join(', ');
  return {
    title: `Run ${plural(runs.length, 'run')} again?`,
    effect: `Another run is requested for each, with the due time and the input of the earlier one: ${jobs}.`,
    verb: 'Run again',
    decline: 'Do not run',
    async carryOut({ note, key }) {
      let requested = 0;
      try {
        for (const { runId } of runs) {
          await change('rerun', [runId], { note }, { key: `${key}-${runId}` });
          requested += 1;
        }
      } catch (error) {
        if (!(error instanceof ApiError) || requested === 0) throw error;
        return `${plural(requested, 'run')} of ${String(runs.length)} requested. The next was refused: ${error.failure.detail}`;
      }
      return `${plural(requested, 'run is', 'runs are')} requested`;
    },
  };
}

export function cancelRun(runId: string): Action {
  return {
    title: 'Cancel this run?',
    effect: `${runId} is asked to stop, and is not retried. Nothing that it has done is undone.`,
    verb: 'Cancel run',
    decline: 'Let it run',
    danger: true,
    carryOut: makes('cancelRun', runId, 'Cancellation requested'),
  };
}

export function acknowledge({ name, controlVersion: version }: Controlled): Action {
  return {
    title: `Acknowledge the failures of ${name}?`,
    effect: 'You take care of them. Until its next success, the job is listed below the unacknowledged ones.',
    verb: 'Acknowledge',
    until: 'until its next success',
    carryOut: makes('acknowledge', name, `The failures of ${name} are acknowledged`, { version }),
  };
}

export function unacknowledge({ name, controlVersion: version }: Controlled): Action {
  return {
    title: `Lift the acknowledgement of ${name}?`,
    effect: 'The job is listed again among the unacknowledged ones.',
    verb: 'Lift acknowledgement',
    note: 'none',
    carryOut: makes('unacknowledge', name, `The acknowledgement of ${name} is removed`, { version }),
  };
}

/** Only the deployment that serves the page can be poked: another one has its own dashboard. */
export function poke(deployment: string): Action {
  return {
    title: `Start a tick of ${deployment}?`,
    effect: 'It looks at all jobs now and claims what is due, as its timer would. Nothing is started twice.',
    verb: 'Poke',
    note: 'none',
    async carryOut() {
      const { due, handedOver, hubProven, cordoned } = await change('poke', [], {});
      if (cordoned) return `Deployment ${deployment} has ticked. It is cordoned, and claims nothing new`;
      if (!hubProven) return `Deployment ${deployment} has ticked. Its task hub did not answer in time: poke again`;
      return `Deployment ${deployment} has ticked: ${plural(due, 'job was', 'jobs were')} due, and it has started ${plural(handedOver, 'run')}`;
    },
  };
}

export function cordon(deployment: string): Action {
  return {
    title: `Cordon ${deployment}?`,
    effect: 'This deployment finishes what it runs and claims nothing new. The others carry on.',
    verb: 'Cordon',
    note: 'needed',
    carryOut: makes('cordonDeployment', deployment, `Deployment ${deployment} is cordoned`),
  };
}

export function uncordon(deployment: string): Action {
  return {
    title: `Lift the cordon of ${deployment}?`,
    effect: 'This deployment claims due times again.',
    verb: 'Lift cordon',
    carryOut: makes('uncordonDeployment', deployment, `Deployment ${deployment} claims again`),
  };
}

/** Starts planned work: pauses many jobs at once, with a banner for all. */
export function startMaintenance(scope: Scope): Action {
  return {
    title: 'Start maintenance?',
    effect: 'The chosen jobs start no run until it ends. Runs in progress continue. All viewers see a banner.',
    label: 'Start maintenance',
    verb: 'Pause these jobs',
    decline: 'Change nothing',
    note: 'needed',
    danger: true,
    until: 'until a person ends it',
    scope,
    async carryOut({ note, until, scope: choice }) {
      const { done, refused } = await change('pauseJobs', [], { ...choice, note, until });
      return `${plural(done.length, 'job is', 'jobs are')} paused${leftOf(refused)}`;
    },
  };
}

function leftOf(refused: PausedMany['refused']): string {
  const [first] = refused;
  if (first === undefined) return '';
  return `. ${plural(refused.length, 'job was', 'jobs were')} left alone: ${first.problem}`;
}

type Work = Jobs['maintenance'][number];

export function maintained({ jobs }: Work): string {
  return jobs === '*' ? 'all jobs' : jobs;
}

/** @param jobs all jobs */
export function endMaintenance(work: Work, jobs: readonly Job[]): Action {
  const choice = choiceOf(work, jobs);
  return {
    title: `End the maintenance of ${maintained(work)}?`,
    effect: 'Due times start runs again. Those that were skipped are listed, and are not run later.',
    verb: 'End maintenance',
    decline: 'Leave them paused',
    async carryOut({ note }) {
      const answer = await change('resumeJobs', [], { ...choice, maintenance: work.jobs, note });
      // One of them may have been resumed before.
      const refused = answer.refused.filter(({ code }) => code !== 'NotPaused');
      await reportSkippedTimes(answer.done, 'tag' in choice ? choice : {}, refused);
      return `${plural(answer.done.length, 'job is', 'jobs are')} resumed`;
    },
  };
}

/** The jobs that a maintenance paused, by its words: "tag billing", "report-*", or names, of which it has the first. */
function choiceOf({ jobs: words, by, note }: Work, jobs: readonly Job[]): Choice {
  if (words.startsWith('tag ')) return { tag: words.slice('tag '.length) };
  if (words.includes('*')) return { pattern: words };
  const named = words.replace(/ and \d+ more$/, '').split(', ');
  if (named.join(', ') === words) return { jobs: named };
  const others = jobs.filter(({ name, pause }) => !named.includes(name) && pause?.by === by && pause.note === note);
  return { jobs: [...named, ...others.map(({ name }) => name)] };
}
