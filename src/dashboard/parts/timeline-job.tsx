import type { ComponentChildren } from 'preact';
import { reasonText } from '../../core/guide';
import { isBad } from '../../core/shown-state';
import { pageOf } from '../data/address';
import {
  LEAST,
  type Past,
  type PlannedMark,
  type Scale,
  type TimelineJob,
  atOnce,
  instantAt,
  listedUntil,
  marksOf,
  positionOf,
} from '../data/marks';
import { duration, shortTime, zoneOf } from '../data/time';
import { outcomeLabel, outcomeWord, plural } from '../data/words';
import { countsOf } from './bars';
import { follow } from './parts';

const HEIGHT = 44;
/** Beside a long name the picture is cut off by its row, not by its own height. */
const BEYOND = 100;
const TOP = 10;
const BAR = 22;

/** Bars of good runs shorter than a pixel touch each other: many are a strip of one tone, in which others stand out. */
export function barWidth(px: number, isGood: boolean): number {
  return Math.max(isGood && px < 1 ? 1 : LEAST, px);
}

/** What hatches mean: there is more than is listed. */
export function Hatching() {
  return (
    <pattern id="beyond" width={6} height={6} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect width={1.5} height={6} />
    </pattern>
  );
}

interface BeyondProps {
  readonly from: number;
  readonly to: number;
  readonly y: number;
  readonly height: number;
}

/** Hatches a stretch of a picture; nothing, if it is empty. The picture, or one above it, has the {@link Hatching}. */
export function Beyond({ from, to, y, height }: BeyondProps) {
  return to <= from ? null : (
    <rect class="beyond" x={from} y={y} width={to - from} height={height} fill="url(#beyond)" />
  );
}

/** Planned runs with less than this between them are drawn as one. */
const APART = 2;

/** The runs of one job around now. It is one stop of Tab; the arrow keys go from run to run. */
export function JobRuns({ job, scale }: { readonly job: TimelineJob; readonly scale: Scale }) {
  const { currentRun } = job;
  const now = (scale.from + scale.until) / 2;
  const { current, planned, overlaps, ...marks } = marksOf(job, now, instantAt(scale, APART) - scale.from);
  const past = marks.past.filter(({ until }) => until >= scale.from);
  const x = (at: number): number => positionOf(scale, Math.min(scale.until, Math.max(scale.from, at)));
  const stretch = (from: number, until: number) => ({ x: x(from), width: Math.max(LEAST, x(until) - x(from)) });
  const today = x(now);
  return (
    <svg width={scale.width} height={HEIGHT} tabindex={0} role="group" aria-label={summary(job, past, overlaps.length)}>
      <rect class="ahead" x={today} y={-BEYOND} width={scale.width - today} height={HEIGHT + 2 * BEYOND} />
      <Beyond from={0} to={x(marks.knownFrom ?? scale.from)} y={TOP} height={BAR} />
      <Beyond from={x(marks.plannedUntil ?? scale.until)} to={scale.width} y={TOP} height={BAR} />
      {past.map(({ item, dueAt, from, until }) => (
        <PastItem
          key={`${item.scheduledFor} ${item.kind === 'run' ? item.runId : 'gap'}`}
          item={item}
          job={job}
          box={[x(from), x(until) - x(from)]}
          due={x(dueAt)}
        />
      ))}
      {current !== undefined && currentRun !== null && (
        <Item
          kind="current"
          href={pageOf({ run: currentRun.runId })}
          title={`In progress, attempt ${String(currentRun.attempt)}${usually(job)}`}
        >
          <rect class="expected" x={today} y={TOP} width={x(current.expected) - today} height={BAR} />
          <rect
            class="bar running"
            x={x(current.from) + 0.5}
            y={TOP + 0.5}
            width={stretch(current.from, now).width}
            height={BAR - 1}
          />
        </Item>
      )}
      {planned.map((group) => (
        <Item
          key={group.from}
          kind="planned"
          href={pageOf({ job: job.name, at: new Date(group.from).toISOString() })}
          title={plannedTitle(group, job)}
        >
          <rect class="planned" {...stretch(group.from, group.until)} y={TOP} height={BAR} />
        </Item>
      ))}
      {overlaps.map(({ from, until }) => (
        <rect key={from} class="overlap" {...stretch(from, until)} y={TOP + BAR + 3} height={3} />
      ))}
      <path class="now" d={`M${String(today)} ${String(-BEYOND)}v${String(HEIGHT + 2 * BEYOND)}`} />
    </svg>
  );
}

interface ItemProps {
  readonly kind: 'past' | 'current' | 'planned';
  readonly href: string;
  readonly title: string;
  readonly children: ComponentChildren;
}

/** Arrow keys lead to it, and Tab passes it. */
function Item({ kind, href, title, children }: ItemProps) {
  return (
    <a href={href} data-item={kind} tabindex={-1} onClick={follow}>
      <title>{title}</title>
      {children}
    </a>
  );
}

interface PastItemProps {
  readonly item: Past;
  readonly job: TimelineJob;
  readonly box: readonly [x: number, width: number];
  readonly due: number;
}

function PastItem({ item, job, box: [x, length], due }: PastItemProps) {
  const { outcome } = item;
  const width = barWidth(length, outcome === 'succeeded');
  // A due time has no length, and a gap of one is still seen.
  const [gapX, gapWidth] = length < 5 ? [x + length / 2 - 2, 5] : [x, length];
  const href = item.kind === 'run' ? pageOf({ run: item.runId }) : pageOf({ job: job.name, at: item.scheduledFor });
  return (
    <Item kind="past" href={href} title={pastTitle(item, job)}>
      {item.kind === 'gap' ? (
        <>
          <rect class="hit" x={gapX - 1} y={TOP} width={gapWidth + 2} height={HEIGHT - TOP} />
          {outcome !== 'overlapped' && (
            <rect class="bar gap" x={gapX} y={TOP + 6.5} width={gapWidth} height={BAR - 7} />
          )}
        </>
      ) : (
        <>
          {width < LEAST && <rect class="hit" x={x - 1} y={TOP} width={LEAST} height={BAR} />}
          {x - due > 1 && <path class="late" d={`M${String(due)} ${String(TOP + BAR / 2)}H${String(x)}`} />}
          <rect class={`bar ${outcomeLabel(outcome).tone}`} x={x} y={TOP} width={width} height={BAR} />
        </>
      )}
      {outcome !== null && isBad(outcome) && <rect class="mark" x={x} y={TOP - 5} width={width} height={3} />}
      {outcome === 'overlapped' && <rect class="overlap" x={gapX} y={TOP + BAR + 3} width={gapWidth} height={3} />}
    </Item>
  );
}

function timeOf(at: number, { timeZone }: TimelineJob): string {
  return shortTime(at, zoneOf(timeZone), Date.now());
}

function usually({ medianMs }: TimelineJob): string {
  return medianMs === null ? '' : `, usually takes ${duration(medianMs)}`;
}

function plannedTitle({ from: first, last, count }: PlannedMark, job: TimelineJob): string {
  const name = `${job.name}: planned`;
  if (count === 1) return `${name} ${timeOf(first, job)}${usually(job)}`;
  return `${name} ${plural(count, 'run')} from ${timeOf(first, job)} to ${timeOf(last, job)}${usually(job)}`;
}

function pastTitle(item: Past, job: TimelineJob): string {
  const head = `${job.name}: ${outcomeWord(item.outcome)} ${timeOf(Date.parse(item.scheduledFor), job)}`;
  if (item.kind === 'gap') {
    return `${head}, ${reasonText(item.reason)}${item.count > 1 ? `, ${plural(item.count, 'due time')}` : ''}`;
  }
  const late = item.latenessMs !== null && item.latenessMs >= 1_000 ? `, ${duration(item.latenessMs)} late` : '';
  return `${head}${item.durationMs === null ? '' : `, took ${duration(item.durationMs)}`}${late}`;
}

function summary(job: TimelineJob, past: readonly { readonly item: Past }[], overlaps: number): string {
  const { planned, isComplete, currentRun } = job;
  const [next] = planned;
  return [
    `${job.name}: ${countsOf(past.map(({ item }) => item)) || 'nothing has run'}`,
    ...(currentRun === null ? [] : ['one run in progress']),
    next === undefined
      ? 'nothing planned'
      : `${String(planned.length)}${isComplete ? '' : ' and more'} planned, the next ${timeOf(Date.parse(next), job)}`,
    ...(overlaps === 0 ? [] : [`runs overlap ${plural(overlaps, 'time')}`]),
  ].join('; ');
}

const AT_ONCE = 32;

/** How many of the planned runs are in progress at once, as long as all of them are listed. */
export function AtOnce({ jobs, scale }: { readonly jobs: readonly TimelineJob[]; readonly scale: Scale }) {
  const until = listedUntil(jobs, scale.until);
  const steps = atOnce(jobs, (scale.from + scale.until) / 2).filter(({ at }) => at <= until);
  const end = positionOf(scale, until);
  const most = Math.max(1, ...steps.map(({ count }) => count));
  const today = scale.width / 2;
  const path = steps.map(({ at, count }) => {
    const x = Math.min(end, positionOf(scale, at));
    return `H${x.toFixed(1)}V${(AT_ONCE - (count / most) * (AT_ONCE - 4)).toFixed(1)}`;
  });
  return (
    <>
      <path
        class="at-once"
        d={`M${String(today)} ${String(AT_ONCE)}${path.join('')}H${end.toFixed(1)}V${String(AT_ONCE)}Z`}
      />
      <Beyond from={end} to={scale.width} y={4} height={AT_ONCE - 4} />
      <text x={today - 6} y={AT_ONCE - 4} text-anchor="end">
        up to {most}
      </text>
    </>
  );
}
