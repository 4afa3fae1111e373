import { type Action, Ask, type Choice, type Scope } from './action-dialog';
import { change } from '../data/api';
import type { Job, Jobs, PausedMany } from '../../client/types';
import { Notice, Time } from './parts';
import { reportSkippedTimes } from '../pages/skipped-times';
import { mayAct } from '../data/session';
import { plural } from '../data/words';

type Work = Jobs['maintenance'][number];

/** Starts planned work: pauses many jobs at once, with a banner for all. */
export function StartMaintenance(scope: Scope) {
  return mayAct.value && <Ask action={start(scope)}>Start maintenance</Ask>;
}

function start(scope: Scope): Action {
  return {
    title: 'Start maintenance?',
    effect: 'The chosen jobs start no run until it ends. Runs in progress continue. All viewers see a banner.',
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

/** All can see that jobs stand still on purpose. */
export function Maintenance({ works, jobs }: { readonly works: readonly Work[]; readonly jobs: readonly Job[] }) {
  return (
    <Notice title="Maintenance" tone="warn">
      {works.map((work) => (
        <div key={`${work.since} ${work.jobs}`} class="work">
          <p class="foreign">
            {work.by} paused {wordsOf(work)}: {work.note}. Since <Time at={work.since} zone={null} />
            {work.until === null ? '' : ', until '}
            {work.until !== null && <Time at={work.until} zone={null} />}.
          </p>
          {mayAct.value && <Ask action={end(work, jobs)}>End maintenance</Ask>}
        </div>
      ))}
    </Notice>
  );
}

function wordsOf({ jobs }: Work): string {
  return jobs === '*' ? 'all jobs' : jobs;
}

function end(work: Work, jobs: readonly Job[]): Action {
  const choice = choiceOf(work, jobs);
  return {
    title: `End the maintenance of ${wordsOf(work)}?`,
    effect: 'Due times start runs again. Those that were skipped are listed, and are not run later.',
    verb: 'End maintenance',
    decline: 'Leave them paused',
    async carryOut({ note }) {
      const answer = await change('resumeJobs', [], { ...choice, maintenance: work.jobs, note });
      // One of them may have been resumed before.
      const refused = answer.refused.filter(({ code }) => code !== 'NotPaused');
      await reportSkippedTimes(answer.done, 'tag' in choice ? `tag=${encodeURIComponent(choice.tag)}` : '', refused);
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
