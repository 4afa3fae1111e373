import type { TargetedMouseEvent } from 'preact';
import { isBad } from '../../core/shown-state';
import { go, pageOf } from '../data/address';
import type { Job } from '../../client/types';
import { duration, fullTime, zoneOf } from '../data/time';
import { reasonText } from '../../core/guide';
import { outcomeLabel, outcomeWord, plural } from '../data/words';

type RecentOutcome = Job['recent'][number];

const SLOTS = 20;
const STEP = 8;
const WIDTH = 6;
const HEIGHT = 24;
/** Below the bars, for the mark of those that failed. */
const FOOT = 4;
const LEAST = 3;

/** The last outcomes of a job, the newest on the right: a bar is as high as its run was long, a gap is hollow. */
export function Bars({ job }: { readonly job: Pick<Job, 'recent' | 'timeZone' | 'currentRun'> }) {
  const { recent, currentRun: current } = job;
  const shown = recent.slice(current === null ? -SLOTS : -(SLOTS - 1));
  const known = shown.flatMap((item) => (item.kind === 'run' ? (item.durationMs ?? []) : [])).toSorted((a, b) => a - b);
  // Only the record has the duration of some runs: they are drawn as high as the others.
  const usual = known[Math.floor(known.length / 2)] ?? 1;
  const longest = Math.max(1, ...known);
  const first = SLOTS - shown.length - (current === null ? 0 : 1);
  return (
    <svg
      class="bars"
      role="img"
      aria-label={summary(shown, current !== null)}
      viewBox={`0 0 ${String(SLOTS * STEP)} ${String(HEIGHT + FOOT)}`}
      onClick={openRun}
    >
      <path class="base" d={`M0 ${String(HEIGHT + 0.5)}H${String(SLOTS * STEP)}`} />
      {shown.map((item, index) => (
        <Bar
          key={`${item.scheduledFor} ${item.kind === 'run' ? item.runId : 'gap'}`}
          item={item}
          x={(first + index) * STEP}
          longest={longest}
          usual={usual}
          zone={job.timeZone}
        />
      ))}
      {current !== null && (
        <g data-run={current.runId}>
          <title>{`In progress, attempt ${String(current.attempt)}`}</title>
          <rect class="hit" x={(SLOTS - 1) * STEP - 1} y={0} width={STEP} height={HEIGHT + FOOT} />
          <rect class="bar running" x={(SLOTS - 1) * STEP + 0.5} y={8.5} width={WIDTH - 1} height={HEIGHT - 9} />
        </g>
      )}
    </svg>
  );
}

interface BarProps {
  readonly item: RecentOutcome;
  readonly x: number;
  readonly longest: number;
  readonly usual: number;
  readonly zone: string | null;
}

function Bar({ item, x, longest, usual, zone }: BarProps) {
  const { outcome } = item;
  return (
    <g data-run={item.kind === 'run' ? item.runId : undefined}>
      <title>{titleOf(item, zone)}</title>
      <rect class="hit" x={x - 1} y={0} width={STEP} height={HEIGHT + FOOT} />
      {item.kind === 'gap' ? (
        <rect class="bar gap" x={x + 0.5} y={HEIGHT / 2 + 0.5} width={WIDTH - 1} height={HEIGHT / 2 - 1} />
      ) : (
        <rect
          class={`bar ${outcomeLabel(outcome).tone}`}
          x={x}
          y={HEIGHT - heightOf(item.durationMs ?? usual, longest)}
          width={WIDTH}
          height={heightOf(item.durationMs ?? usual, longest)}
        />
      )}
      {outcome !== null && isBad(outcome) && <rect class="mark" x={x} y={HEIGHT + 2} width={WIDTH} height={2} />}
    </g>
  );
}

/** A root keeps short runs visible beside one that was long. */
function heightOf(durationMs: number, longest: number): number {
  return LEAST + (HEIGHT - LEAST) * Math.sqrt(durationMs / longest);
}

function titleOf(item: RecentOutcome, zone: string | null): string {
  const time = fullTime(Date.parse(item.scheduledFor), zoneOf(zone));
  const { word } = outcomeLabel(item.outcome);
  if (item.kind === 'gap') {
    const many = item.count > 1 ? `\n${plural(item.count, 'due time')} did not run` : '';
    return `${word}: ${reasonText(item.reason)}\n${time}${many}`;
  }
  const { durationMs, latenessMs, attempts } = item;
  const lines = [word, time];
  if (durationMs !== null) lines.push(`took ${duration(durationMs)}`);
  if (latenessMs !== null && latenessMs >= 1_000) lines.push(`started ${duration(latenessMs)} late`);
  if (attempts > 1) lines.push(plural(attempts, 'attempt'));
  return lines.join('\n');
}

function summary(recent: readonly RecentOutcome[], running: boolean): string {
  if (recent.length === 0) return running ? 'Its first run is in progress' : 'No run yet';
  return `Last outcomes: ${countsOf(recent)}${running ? ', one in progress' : ''}`;
}

/** `18 succeeded, 2 failed`; empty if nothing has run. */
export function countsOf(items: readonly (Pick<RecentOutcome, 'kind' | 'outcome'> & { count?: number })[]): string {
  const counts = new Map<string, number>();
  for (const { outcome, kind, count = 1 } of items) {
    const word = outcomeWord(outcome);
    counts.set(word, (counts.get(word) ?? 0) + (kind === 'gap' ? count : 1));
  }
  return [...counts].map(([word, count]) => `${String(count)} ${word}`).join(', ');
}

function openRun({ target }: TargetedMouseEvent<SVGSVGElement>): void {
  const run = target instanceof Element ? target.closest('[data-run]')?.getAttribute('data-run') : undefined;
  if (run !== null && run !== undefined) go(pageOf({ run }));
}
