import { pathOf } from '../../client/operations';
import type { Calendar, RunOutcome } from '../../client/types';
import { isBad } from '../../core/shown-state';
import { now } from '../data/live';
import { dayOf } from '../data/time';
import { useRead } from '../data/use-live';
import { outcomeWord } from '../data/words';
import { FailureLine } from './help';

const CELL = 14;
const STEP = CELL + 3;
const DAY = 86_400_000;
const WEEKS = 13;
const LEFT = 34;
/** The months stand above the weeks. */
const TOP = 18;
const WEEKDAYS = ['Mon', 'Wed', 'Fri', 'Sun'] as const;

/** Of the picture, also while it has not come yet: what is below stays there. */
const SIZE = { width: LEFT + WEEKS * STEP, height: TOP + 7 * STEP } as const;

type Counts = readonly (readonly [RunOutcome, number])[];

/** The outcomes of the last thirteen weeks, day by day in the job's zone. */
export function HeatMap({ job }: { readonly job: string }) {
  // It costs a listing of the ledger: once, and again on another day.
  const { body, failure } = useRead<Calendar>(pathOf('getCalendar', [job]), dayOf(now.value, 'UTC'));
  return (
    <section>
      <div class="section-head">
        <h2>Last 13 weeks</h2>
      </div>
      <div class="panel heat">
        {failure !== undefined && <FailureLine failure={failure} />}
        {body === undefined ? <svg {...SIZE} aria-hidden="true" /> : <Cells calendar={body} />}
      </div>
      <p class="legend muted">
        Green: all runs succeeded. Red with a dot: at least one failed, timed out or stalled. Hollow: nothing ran.
        {body?.complete === false && ' There are more records than one answer counts, so older days lack some.'}
      </p>
    </section>
  );
}

function Cells({ calendar: { days, timeZone, now: at } }: { readonly calendar: Calendar }) {
  const byDay = new Map(days.map(({ day, outcomes }) => [day, Object.entries(outcomes) as unknown as Counts]));
  // Noon of the day in the zone, as a date of UTC: no change of clocks moves it to another day.
  const [date, month, year] = dayOf(Date.parse(at), timeZone).split('/').map(Number);
  const today = Date.UTC(year ?? 0, (month ?? 1) - 1, date, 12);
  const monday = today - ((new Date(today).getUTCDay() + 6) % 7) * DAY - (WEEKS - 1) * 7 * DAY;
  const all = Array.from({ length: WEEKS * 7 }, (_, index) => monday + index * DAY).filter((noon) => noon <= today);
  const shown = [...byDay].filter(([day]) => day >= isoDay(monday));
  const bad = shown.filter(([, counts]) => hasFailure(counts)).length;
  return (
    <svg {...SIZE} role="img" aria-label={`${String(bad)} of ${String(shown.length)} days with outcomes had a failure`}>
      {monthsOf(monday).map(({ name, week }) => (
        <text key={week} x={LEFT + week * STEP} y={11}>
          {name}
        </text>
      ))}
      {WEEKDAYS.map((name, index) => (
        <text key={name} x={0} y={TOP + index * 2 * STEP + 11}>
          {name}
        </text>
      ))}
      {all.map((noon, index) => (
        <Cell key={noon} day={isoDay(noon)} counts={byDay.get(isoDay(noon)) ?? []} index={index} />
      ))}
    </svg>
  );
}

function isoDay(noon: number): string {
  return new Date(noon).toISOString().slice(0, 10);
}

/** The weeks in which a month begins to be shown. One that the next month leaves no room for has no name. */
function monthsOf(monday: number): readonly { readonly name: string; readonly week: number }[] {
  const names = Array.from({ length: WEEKS }, (_, week) =>
    new Date(monday + week * 7 * DAY).toLocaleDateString('en', { month: 'short', timeZone: 'UTC' }),
  );
  return names
    .map((name, week) => ({ name, week }))
    .filter(({ name, week }) => name !== names[week - 1] && (names[week + 1] ?? name) === name);
}

function Cell({ day, counts, index }: { readonly day: string; readonly counts: Counts; readonly index: number }) {
  const x = LEFT + Math.floor(index / 7) * STEP;
  const y = TOP + (index % 7) * STEP;
  const words = counts.map(([outcome, count]) => `${String(count)} ${outcomeWord(outcome)}`);
  const kind = kindOf(counts);
  return (
    <g>
      <title>{`${day}: ${words.join(', ') || 'nothing is recorded'}`}</title>
      <rect class={`cell ${kind}`} x={x + 0.5} y={y + 0.5} width={CELL - 1} height={CELL - 1} rx={2} />
      {kind === 'bad' && <circle class="spot" cx={x + CELL / 2} cy={y + CELL / 2} r={2.5} />}
    </g>
  );
}

function kindOf(counts: Counts): string {
  if (counts.length === 0) return 'none';
  if (hasFailure(counts)) return 'bad';
  return counts.some(([outcome]) => outcome === 'succeeded') ? 'good' : 'gap';
}

function hasFailure(counts: Counts): boolean {
  return counts.some(([outcome]) => isBad(outcome));
}
