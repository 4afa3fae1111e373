import { useLayoutEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { isBad } from '../../core/shown-state';
import type { RunSummary } from '../../client/types';
import { shownTheme } from '../data/theme';
import { duration, shortTime, zoneOf } from '../data/time';
import { useWidth } from '../data/use-live';

const HEIGHT = 160;
/** The steps of durations that people count in. */
const INCREMENTS = [1, 10, 100]
  .flatMap((power) => [1, 2, 5].map((digit) => digit * power))
  .concat(
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400].map((s) => s * 1_000),
  );
/** With fewer runs there is no trend. */
const LEAST = 3;

export function Trend({ runs, zone }: { readonly runs: readonly RunSummary[]; readonly zone: string | null }) {
  const points = runs
    .flatMap(({ scheduledFor, durationMs, outcome }) =>
      durationMs === null ? [] : [{ at: Date.parse(scheduledFor), durationMs, bad: isBad(outcome) }],
    )
    .toSorted((a, b) => a.at - b.at);
  if (points.length < LEAST) return null;
  const durations = points.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b);
  const data: uPlot.AlignedData = [
    points.map(({ at }) => at / 1_000),
    points.map(({ durationMs, bad }) => (bad ? null : durationMs)),
    points.map(({ durationMs, bad }) => (bad ? durationMs : null)),
  ];
  return (
    <section>
      <div class="section-head">
        <h2>Duration</h2>
        <p class="muted">
          median {duration(durations[Math.floor(durations.length / 2)] ?? 0)}, longest {duration(durations.at(-1) ?? 0)}{' '}
          of {points.length} runs
        </p>
      </div>
      <Plot data={data} zone={zoneOf(zone)} />
    </section>
  );
}

function Plot({ data, zone }: { readonly data: uPlot.AlignedData; readonly zone: string }) {
  const [element, width] = useWidth();
  const plot = useRef<HTMLDivElement>(null);
  // A canvas does not follow the theme by itself.
  const colors = shownTheme.value;
  useLayoutEffect(() => {
    if (plot.current === null || width === 0) return undefined;
    const drawn = new uPlot(optionsOf(width, zone, plot.current), data, plot.current);
    return () => drawn.destroy();
  }, [width, zone, colors, JSON.stringify(data)]);
  return (
    <div class="panel plot" ref={element} role="img" aria-label="Durations of the latest runs">
      <div ref={plot} />
    </div>
  );
}

function optionsOf(width: number, zone: string, element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string): string => colorOf(element, style.getPropertyValue(name));
  const axis = {
    stroke: color('--muted'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui',
  };
  const dots = (stroke: string) => ({
    stroke,
    width: 0,
    paths: () => null,
    points: { show: true, size: 6, fill: stroke },
  });
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    // Runs may all take less than a millisecond.
    scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [
      {
        ...axis,
        values: (_, seconds) => seconds.map((second) => shortTime(second * 1_000, zone, Date.now())),
        space: 90,
        size: 30,
      },
      { ...axis, size: 80, incrs: INCREMENTS, values: (_, values) => values.map((value) => duration(value)) },
    ],
    series: [{}, dots(color('--bar-good')), dots(color('--bad'))],
  };
}

/** A canvas does not know `light-dark()`. */
function colorOf(element: HTMLElement, value: string): string {
  const probe = document.createElement('span');
  probe.style.color = value;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
