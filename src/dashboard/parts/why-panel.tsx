import { useEffect, useRef } from 'preact/hooks';
import { pathOf } from '../../client/operations';
import type { OneJob, Why } from '../../client/types';
import { changed, go, param } from '../data/address';
import { instantIn, offsetAt, zoneOf } from '../data/time';
import { useRead } from '../data/use-live';
import { type Label, OUTCOME_LABELS } from '../data/words';
import { FailureLine, HelpLink } from './help';
import { Badge, Link, Notice, Time, Warnings } from './parts';
import { runHref } from './runs-over-time';

export function WhyPanel({ job }: { readonly job: OneJob }) {
  const { name, timeZone } = job;
  const at = param('at');
  const isTime = at !== undefined && !Number.isNaN(Date.parse(at));
  const path = isTime ? pathOf('explain', [name], { time: at }) : undefined;
  const { body, failure } = useRead<Why>(path, job);
  const shownZone = zoneOf(timeZone);
  return (
    <section id="why">
      <form class="line" onSubmit={ask}>
        <label>
          <span>
            Why, for this time <span class="muted">({shownZone})</span>
          </span>
          <TimeInput at={isTime ? Date.parse(at) : undefined} zone={shownZone} />
        </label>
        <button type="submit" aria-busy={path !== undefined && body === undefined && failure === undefined}>
          Explain
        </button>
        {at !== undefined && <Link href={changed({ at: undefined })}>Close</Link>}
      </form>
      <div aria-live="polite">
        {failure !== undefined && <FailureLine failure={failure} />}
        {body !== undefined && <Answer why={body} zone={timeZone} />}
      </div>
    </section>
  );

  function ask(event: SubmitEvent): void {
    event.preventDefault();
    const form = event.currentTarget;
    const text = form instanceof HTMLFormElement ? new FormData(form).get('time') : null;
    const instant = typeof text === 'string' ? instantIn(text, shownZone) : undefined;
    if (instant !== undefined) go(changed({ at: new Date(instant).toISOString() }), 'replace');
  }
}

function TimeInput({ at, zone }: { readonly at: number | undefined; readonly zone: string }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (input.current === null || at === undefined) return;
    input.current.value = new Date(at + offsetAt(at, zone) * 60_000).toISOString().slice(0, 19);
  }, [at, zone]);
  return <input ref={input} name="time" type="datetime-local" step="1" required />;
}

const LABELS: Readonly<Record<Why['outcome'], Label>> = {
  ...OUTCOME_LABELS,
  pending: { word: 'Not decided yet', icon: 'clock', tone: 'busy' },
  future: { word: 'To come', icon: 'clock', tone: 'calm' },
  notDue: { word: 'Not due', icon: 'dot', tone: 'calm' },
};

function Answer({ why, zone }: { readonly why: Why; readonly zone: string | null }) {
  const { outcome, text, warnings, runId, time, backfills } = why;
  return (
    <Notice>
      <p>
        <Badge label={LABELS[outcome]} /> <Time at={time} zone={zone} />
      </p>
      <p class="foreign">
        {text} <HelpLink topic={why.reason} />
      </p>
      <Warnings texts={warnings} />
      {runId !== null && (
        <p>
          <Link href={runHref(runId)}>Open its record</Link>
        </p>
      )}
      {backfills.map((run) => (
        <p key={run.runId}>
          Back-filled: <Badge label={OUTCOME_LABELS[run.outcome]} />{' '}
          {run.startedAt !== null && <Time at={run.startedAt} zone={zone} />}{' '}
          <Link href={runHref(run.runId)}>Open this record</Link>
        </p>
      ))}
    </Notice>
  );
}
