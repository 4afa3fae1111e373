import type { TargetedMouseEvent } from 'preact';
import type { RunSummary } from '../../client/types';
import { reasonText } from '../../core/guide';
import { isBad } from '../../core/shown-state';
import { changed, go, pageOf, param } from '../data/address';
import { now } from '../data/live';
import { type Due, LEAST, type Scale, dueAtOf, positionOf, timeAt } from '../data/marks';
import { duration, exactTime, fullTime, ticksOf, zoneOf } from '../data/time';
import { useWidth } from '../data/use-live';
import { isOpen, OUTCOME_LABELS, plural } from '../data/words';
import { Link } from './parts';
import { barWidth, Beyond, Hatching } from './timeline-job';

const HEIGHT = 96;
const BASE = 64;
const BAR = 36;
const LABEL = 84;
/** In hours. */
const RANGES = { '1h': 1, '6h': 6, '24h': 24, '7d': 7 * 24, '30d': 30 * 24 };
const RANGE_NAMES = Object.keys(RANGES) as (keyof typeof RANGES)[];
const HOUR = 3_600_000;
/** The share of the picture that lies in the future. */
const AHEAD = 0.15;

interface RunsOverTimeProps {
  readonly runs: readonly RunSummary[];
  /** Whether there are older ones, which are not listed. */
  readonly isPart: boolean;
  readonly due: Due;
  readonly zone: string | null;
}

/** The runs of a job over time. A click asks why, for that instant. */
export function RunsOverTime(props: RunsOverTimeProps) {
  const { runs, isPart } = props;
  const [element, width] = useWidth();
  const fitting = RANGE_NAMES.find((name) => RANGES[name] * HOUR >= spanOf(runs)) ?? '30d';
  const chosen = RANGE_NAMES.find((name) => name === param('range')) ?? fitting;
  return (
    <section>
      <div class="section-head">
        <h2>Runs over time</h2>
        <nav class="chips small" aria-label="Length of time">
          {RANGE_NAMES.map((name) => (
            <Link key={name} class="chip" href={changed({ range: name })} current={name === chosen} replace>
              {name}
            </Link>
          ))}
        </nav>
      </div>
      <div class="panel picture" ref={element}>
        {width > 0 && <Picture {...props} width={width} lengthMs={RANGES[chosen] * HOUR} />}
      </div>
      <p class="legend muted">
        A bar is as long as its run, and a line before it shows how late it began. Hollow: due times that did not run.
        {isPart && ` Hatched: before the ${String(runs.length)} runs that are listed.`} Click anywhere to ask why.
      </p>
    </section>
  );
}

/** From the last run back to the twentieth, or the oldest. */
function spanOf(runs: readonly RunSummary[]): number {
  const [newest, oldest] = [runs[0], runs[Math.min(runs.length, 20) - 1]];
  return newest && oldest ? Date.parse(newest.scheduledFor) - Date.parse(oldest.scheduledFor) : 0;
}

function Picture(props: RunsOverTimeProps & { readonly width: number; readonly lengthMs: number }) {
  const { runs, isPart, due, zone, width, lengthMs } = props;
  const at = now.value;
  const scale: Scale = { from: at - lengthMs, until: at + (lengthMs * AHEAD) / (1 - AHEAD), width };
  const asked = Date.parse(param('at') ?? '');
  const shown = runs.filter((run) => endOf(run, at) >= scale.from).toSorted((a, b) => layerOf(a) - layerOf(b));
  const today = positionOf(scale, at);
  // A click on a record, or near a due time to come, means that one.
  const askWhy = ({ clientX, currentTarget }: TargetedMouseEvent<SVGSVGElement>): void => {
    const x = clientX - currentTarget.getBoundingClientRect().left;
    go(changed({ at: timeAt(scale, x, runs, due, now.peek()) }), 'replace');
  };
  const listedFrom = positionOf(scale, Math.min(...runs.map(({ scheduledFor }) => Date.parse(scheduledFor))));
  return (
    <svg
      class="runs-over-time"
      width={width}
      height={HEIGHT}
      role="img"
      aria-label={`${plural(shown.length, 'record')} of runs and gaps. The table of runs leads to all.`}
      onClick={askWhy}
    >
      <rect class="ahead" x={today} y={0} width={width - today} height={BASE} />
      <Hatching />
      <Beyond from={0} to={isPart ? Math.min(width, listedFrom) : 0} y={BASE - BAR} height={BAR} />
      <path class="base" d={`M0 ${String(BASE + 0.5)}H${String(width)}`} />
      {ticksOf(scale, zoneOf(zone), LABEL).map((tick) => (
        <g key={tick.at}>
          <path class="base" d={`M${String(tick.x)} ${String(BASE)}v5`} />
          <text x={tick.x} y={BASE + 20} text-anchor={tick.x < 30 ? 'start' : tick.x > width - 30 ? 'end' : 'middle'}>
            {tick.label}
          </text>
        </g>
      ))}
      {shown.map((run) => (
        <Item key={run.runId} run={run} scale={scale} at={at} zone={zone} />
      ))}
      {due.map(({ startsAt }) => {
        const x = positionOf(scale, Date.parse(startsAt));
        return x > width ? null : (
          <g key={startsAt}>
            <title>{`Due ${fullTime(Date.parse(startsAt), zoneOf(zone))}`}</title>
            <path class="due" d={`M${String(x)} ${String(BASE - 12)}v12`} />
          </g>
        );
      })}
      {asked >= scale.from && asked <= scale.until && (
        <path class="asked" d={`M${String(positionOf(scale, asked))} 4v${String(BASE - 4)}`} />
      )}
      <path class="now" d={`M${String(today)} 0v${String(BASE)}`} />
    </svg>
  );
}

/** What went wrong lies over what went well, and gaps over the run that was in progress then. */
function layerOf({ trigger, outcome }: RunSummary): number {
  return trigger === null ? 2 : isBad(outcome) ? 1 : 0;
}

function endOf({ endedAt, through, scheduledFor, startedAt }: RunSummary, at: number): number {
  if (endedAt !== null) return Date.parse(endedAt);
  return startedAt === null ? Date.parse(through ?? scheduledFor) : at;
}

interface ItemProps {
  readonly run: RunSummary;
  readonly scale: Scale;
  readonly at: number;
  readonly zone: string | null;
}

function Item({ run, scale, at, zone }: ItemProps) {
  const { outcome, startedAt, trigger } = run;
  const due = positionOf(scale, dueAtOf(run));
  const end = positionOf(scale, endOf(run, at));
  const title = <title>{titleOf(run, zone)}</title>;
  if (trigger === null) {
    return (
      <g>
        {title}
        <rect
          class="bar gap"
          x={due - 1.5}
          y={BASE - BAR / 2}
          width={Math.max(LEAST, end - due)}
          height={BAR / 2 - 1}
        />
      </g>
    );
  }
  const start = startedAt === null ? due : positionOf(scale, Date.parse(startedAt));
  const { tone } = OUTCOME_LABELS[outcome];
  const width = barWidth(end - start, outcome === 'succeeded');
  return (
    <g>
      {title}
      {start - due > 1 && <path class="late" d={`M${String(due)} ${String(BASE - BAR / 2)}H${String(start)}`} />}
      <rect class={`bar ${isOpen(outcome) ? 'running' : tone}`} x={start} y={BASE - BAR} width={width} height={BAR} />
      {isBad(outcome) && <rect class="mark" x={start} y={BASE + 2} width={width} height={2} />}
      {trigger === 'takeOver' && <path class="taken" d={`M${String(start)} ${String(BASE - BAR - 10)}l4 7h-8z`} />}
    </g>
  );
}

function titleOf(run: RunSummary, zone: string | null): string {
  const { outcome, reason, scheduledFor, count, trigger, latenessMs, durationMs } = run;
  const lines = [
    `${OUTCOME_LABELS[outcome].word}${reason === null ? '' : `: ${reasonText(reason)}`}`,
    `due ${fullTime(Date.parse(scheduledFor), zoneOf(zone))}`,
  ];
  if (count !== null && count > 1) lines.push(plural(count, 'due time'));
  if (trigger === 'takeOver') lines.push('taken over from an instance that died or lost its lease');
  if (latenessMs !== null && latenessMs >= 1_000) lines.push(`${duration(latenessMs)} late`);
  if (durationMs !== null) lines.push(`took ${duration(durationMs)}`);
  return lines.join('\n');
}

/** The name of a run for people: its due time. */
export function runTitle(scheduledFor: string, zone: string | null): string {
  return exactTime(Date.parse(scheduledFor), zoneOf(zone), now.value);
}

export function runHref(runId: string): string {
  return pageOf({ run: runId });
}
