import type { TargetedSubmitEvent } from 'preact';
import { pathOf } from '../../client/operations';
import { useState } from 'preact/hooks';
import { startBackfill, stopBackfill } from '../data/actions';
import type { BackfillPlan, OneBackfill, OneJob } from '../../client/types';
import { Ask } from './action-dialog';
import { Link, Time } from './parts';
import { mayAct } from '../data/session';
import { instantIn, zoneOf } from '../data/time';
import { runHref } from './runs-over-time';
import { useRead } from '../data/use-live';
import { noted, plural } from '../data/words';
import { FailureLine } from './help';

const SHOWN = 20;

const STATES = {
  active: 'in progress',
  paused: 'waits, because the job is paused or disabled',
  stopping: 'stops after its run in progress',
  stopped: 'stopped',
  scheduleChanged: 'ended, because the schedule has changed',
  done: 'done',
} as const;

export function BackfillPanel({ job }: { readonly job: OneJob }) {
  const { name, timeZone } = job;
  const path = job.backfill === null ? undefined : pathOf('getBackfill', [name]);
  const { body, failure } = useRead<OneBackfill>(path, job);
  const backfill = body?.backfill;
  return (
    <section id="backfill" aria-labelledby="backfill-title">
      <h2 id="backfill-title">Back-fill</h2>
      <div aria-live="polite">
        {failure !== undefined && <FailureLine failure={failure} />}
        {backfill != null && <Progress job={job} backfill={backfill} />}
      </div>
      {mayAct.value && <PlanForm job={name} zone={zoneOf(timeZone)} />}
    </section>
  );
}

type Backfill = NonNullable<OneBackfill['backfill']>;

function Progress({ job, backfill }: { readonly job: OneJob; readonly backfill: Backfill }) {
  const { state, from, through, dueTimes, left, outcomes, runId, origin } = backfill;
  const ends = Object.entries(outcomes).map(([outcome, count]) => `${String(count)} ${outcome}`);
  const isGoing = state === 'active' || state === 'paused';
  return (
    <>
      <p>
        <progress value={dueTimes - left} max={Math.max(1, dueTimes)} aria-label="Due times of the back-fill" />{' '}
        {`${String(dueTimes - left)} of ${plural(dueTimes, 'due time', 'due times')}, ${STATES[state]}`}
        {ends.length > 0 && `: ${ends.join(', ')}`}
      </p>
      <p class="muted foreign">
        <Time at={from} zone={job.timeZone} /> to <Time at={through} zone={job.timeZone} />, asked for by{' '}
        {noted(origin.actor, origin.note)}
      </p>
      <p class="buttons">
        {runId !== null && <Link href={runHref(runId)}>Open the run in progress</Link>}
        {isGoing && mayAct.value && <Ask action={stopBackfill(job)} />}
      </p>
    </>
  );
}

type Wanted = NonNullable<ReturnType<typeof wantedOf>>;

function PlanForm({ job, zone }: { readonly job: string; readonly zone: string }) {
  const [wanted, setWanted] = useState<Wanted>();
  const path = wanted && pathOf('planBackfill', [job], wanted);
  const { body, failure } = useRead<BackfillPlan>(path, wanted);
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    setWanted(wantedOf(new FormData(event.currentTarget), zone));
  };
  return (
    <>
      <form class="line" onSubmit={submit}>
        <label>
          <span>
            From <span class="muted">({zone})</span>
          </span>
          <input name="from" type="datetime-local" step="1" required />
        </label>
        <label>
          To, or empty for now
          <input name="to" type="datetime-local" step="1" />
        </label>
        <label>
          First
          <select name="order">
            <option value="oldest">the oldest</option>
            <option value="newest">the newest</option>
          </select>
        </label>
        <label class="check">
          <input name="includeSucceeded" type="checkbox" /> also what has succeeded
        </label>
        <button type="submit" aria-busy={wanted !== undefined && body === undefined && failure === undefined}>
          Show what would run
        </button>
      </form>
      <div aria-live="polite">
        {failure !== undefined && <FailureLine failure={failure} />}
        {body !== undefined && wanted !== undefined && <Plan plan={body} wanted={wanted} zone={zone} />}
      </div>
    </>
  );
}

function wantedOf(form: FormData, zone: string) {
  const instant = (name: string): string | undefined => {
    const text = form.get(name);
    const at = typeof text === 'string' && text !== '' ? instantIn(text, zone) : undefined;
    return at === undefined ? undefined : new Date(at).toISOString();
  };
  const from = instant('from');
  if (from === undefined) return undefined;
  const order = form.get('order') === 'newest' ? 'newest' : 'oldest';
  return { from, to: instant('to'), order, includeSucceeded: form.get('includeSucceeded') !== null || undefined };
}

function summaryOf({ running, skipped }: BackfillPlan): string {
  const succeeded = plural(skipped, 'has succeeded and is skipped', 'have succeeded and are skipped');
  if (running === 0) return `No due time runs: ${succeeded}.`;
  const runs = plural(running, 'due time runs', 'due times run');
  return skipped === 0 ? `${runs}.` : `${runs}, and ${succeeded}.`;
}

function Plan({ plan, wanted, zone }: { readonly plan: BackfillPlan; readonly wanted: Wanted; readonly zone: string }) {
  const { job, dueTimes, running, skipped } = plan;
  const more = running + skipped - Math.min(SHOWN, dueTimes.length);
  return (
    <>
      <p>{summaryOf(plan)}</p>
      <ul>
        {dueTimes.slice(0, SHOWN).map(({ scheduledFor, outcome, runs }) => (
          <li key={scheduledFor}>
            <Time at={scheduledFor} zone={zone} /> {runs ? 'runs' : 'is skipped'} ({outcome ?? 'no record'})
          </li>
        ))}
        {more > 0 && <li>and {more} more</li>}
      </ul>
      {running > 0 && <Ask action={startBackfill(job, wanted, running)} class="primary" />}
    </>
  );
}
