import type { DueTimes as Due, OneJob } from '../../client/types';
import { exactly, fullTime, offsetAt, span, zoneOf } from '../data/time';
import type { Reading } from '../data/use-live';
import { plural } from '../data/words';
import { FailureLine } from './help';
import { Ago } from './parts';

type Settings = NonNullable<OneJob['settings']>;

const NO_DUE_TIMES: Readonly<Record<Settings['kind'], string>> = {
  timed: 'There is none within the next 5 years.',
  always: 'There is none: a leader job runs all the time.',
  manual: 'There is none: it only runs on request.',
};

export function DueTimes({ kind, reading }: { readonly kind: Settings['kind']; readonly reading: Reading<Due> }) {
  const { body, failure } = reading;
  const due = body?.jobs[0];
  return (
    <section>
      <h2>Next due times</h2>
      {failure !== undefined && <FailureLine failure={failure} />}
      {due !== undefined && (due.due.length === 0 ? <p class="muted">{NO_DUE_TIMES[kind]}</p> : <List due={due} />)}
    </section>
  );
}

function List({ due: { due, timeZone, paused, enabled } }: { readonly due: Due['jobs'][number] }) {
  return (
    <>
      {(paused || !enabled) && (
        <p class="warn">{enabled ? 'The job is paused' : 'The job is disabled'}: none of them runs until that ends.</p>
      )}
      <ol class="due">
        {due.map(({ scheduledFor, startsAt }, index) => (
          <li key={scheduledFor}>
            <time dateTime={startsAt}>{fullTime(Date.parse(startsAt), zoneOf(timeZone))}</time>{' '}
            <span class="muted">
              <Ago at={startsAt} zone={timeZone} />
              {spreadNote(Date.parse(startsAt) - Date.parse(scheduledFor))}
            </span>
            <ClockNote from={due[index - 1]?.startsAt ?? startsAt} until={startsAt} zone={timeZone} />
          </li>
        ))}
      </ol>
    </>
  );
}

function spreadNote(ms: number): string {
  return ms === 0 ? '' : `, ${span(ms)} after its due time by "spread"`;
}

function ClockNote({ from, until, zone }: Readonly<Record<'from' | 'until' | 'zone', string>>) {
  const change = offsetAt(Date.parse(until), zone) - offsetAt(Date.parse(from), zone);
  if (change === 0) return null;
  return (
    <span class="warn">
      {' '}
      Clocks in {zone} go {change > 0 ? 'forward' : 'back'} by {span(Math.abs(change) * 60_000)} before it.
    </span>
  );
}

/** The settings of a job as sentences, in the order in which a run meets them. */
export function SettingsInWords({ settings }: Pick<OneJob, 'settings'>) {
  return (
    <section>
      <h2>Settings</h2>
      {settings === null ? (
        <p class="muted">The job is not in the jobs file of this app, so its settings are not known here.</p>
      ) : (
        <ul class="words">
          {sentencesOf(settings).map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

const OVERLAP: Readonly<Record<Settings['overlap'], string>> = {
  skip: 'A due time that comes while a run is in progress is skipped.',
  queue: 'A due time that comes while a run is in progress waits for its end. Of several, the newest runs.',
  cancel: 'A due time that comes while a run is in progress cancels that run.',
};

function sentencesOf(settings: Settings): readonly string[] {
  const { kind, handler, call, overlap, offsetMs, timeoutMs, stallAfterMs, graceMs, leaseMs, keepMs } = settings;
  const { priority, pauseAfterFailures, alertAfterMs } = settings;
  return [
    call === null ? `Its handler is "${handler}".` : `It calls ${call}.`,
    offsetMs === 0 ? '' : `Every due time starts ${exactly(offsetMs)} later, by "spread".`,
    requiresOf(settings),
    ...(kind === 'timed' ? [catchUpOf(settings), OVERLAP[overlap]] : []),
    `Its priority is ${String(priority)}: of jobs that are due together, 9 goes first and 0 last.`,
    timeoutMs === null
      ? 'A run has no time limit.'
      : `An attempt may take ${exactly(timeoutMs)}, and ${exactly(graceMs)} more to stop.`,
    stallAfterMs === null ? '' : `An attempt without progress for ${exactly(stallAfterMs)} is stalled, and ends.`,
    retryOf(settings),
    `If its holder dies, its lease of ${exactly(leaseMs)} expires, and the next tick that sees this takes the run over.`,
    pauseAfterFailures === null ? '' : `It is paused after ${plural(pauseAfterFailures, 'failure')} in a row.`,
    alertAfterMs === null
      ? 'Nothing watches how long it has been without a success.'
      : `It is overdue after ${exactly(alertAfterMs)} without a success.`,
    `Records are kept for ${exactly(keepMs)}.`,
  ].filter((text) => text !== '');
}

function requiresOf({ requires, requireWithinMs }: Settings): string {
  if (requireWithinMs === null) return '';
  const names = `${requires.join(' and ')} ${requires.length === 1 ? 'has' : 'have'}`;
  return `A due time waits until ${names} succeeded since the due time before it. After ${exactly(requireWithinMs)} it expires.`;
}

function catchUpOf({ catchUp, catchUpWindowMs }: Settings): string {
  const within = `for up to ${exactly(catchUpWindowMs)}`;
  switch (catchUp) {
    case 'latest':
      return `After an outage, the latest missed due time runs, ${within}.`;
    case 'all':
      return `After an outage, every missed due time runs, ${within}.`;
    case 'none':
      return 'Missed due times are not run later.';
  }
}

function retryOf({ retry: { attempts, backoffMs, factor, maxBackoffMs } }: Settings): string {
  if (attempts === 1) return 'Failed runs are not retried.';
  const growth = factor === 1 ? '' : `, then ${String(factor)} times as long each time, up to ${exactly(maxBackoffMs)}`;
  return `A run has up to ${plural(attempts, 'attempt')}, the second ${exactly(backoffMs)} after the first${growth}.`;
}
