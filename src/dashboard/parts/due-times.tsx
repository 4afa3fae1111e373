import type { Failure } from '../data/api';
import type { DueTimes as Due } from '../../client/types';
import { Ago } from './parts';
import { fullTime, offsetAt, span, zoneOf } from '../data/time';
import { NO_DUE_TIMES } from '../data/words';
import { FailureLine } from './help';

interface DueTimesProps {
  readonly kind: keyof typeof NO_DUE_TIMES;
  readonly due: Due['jobs'][number] | undefined;
  readonly failure: Failure | undefined;
}

/** The next due times, with the changes of the clock between them. */
export function DueTimes({ kind, due, failure }: DueTimesProps) {
  return (
    <section>
      <h2>Next due times</h2>
      {failure !== undefined && <FailureLine failure={failure} />}
      {due !== undefined && due.due.length === 0 && <p class="muted">{NO_DUE_TIMES[kind]}</p>}
      {due !== undefined && due.due.length > 0 && <List due={due} />}
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
              {spreadNote(scheduledFor, startsAt)}
            </span>
            <ClockNote from={due[index - 1]?.startsAt} until={startsAt} zone={timeZone} />
          </li>
        ))}
      </ol>
    </>
  );
}

function spreadNote(scheduledFor: string, startsAt: string): string {
  const late = Date.parse(startsAt) - Date.parse(scheduledFor);
  return late === 0 ? '' : `, ${span(late)} after its due time by "spread"`;
}

interface ClockNoteProps {
  readonly from: string | undefined;
  readonly until: string;
  readonly zone: string;
}

/** The clocks of the job's zone change between two due times. */
function ClockNote({ from, until, zone }: ClockNoteProps) {
  if (from === undefined) return null;
  const change = offsetAt(Date.parse(until), zone) - offsetAt(Date.parse(from), zone);
  if (change === 0) return null;
  return (
    <span class="warn">
      {' '}
      Clocks in {zone} go {change > 0 ? 'forward' : 'back'} by {span(Math.abs(change) * 60_000)} before it.
    </span>
  );
}
