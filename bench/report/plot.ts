import type { Millis } from '../../src/core/brand';
import { milliseconds } from './numbers';

/** One row of a plot: from the median to the 99th percentile, and on to the maximum. */
export interface Range {
  readonly label: string;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Whether the row is of the product, and not of a peer. */
  readonly own: boolean;
}

const WIDTH = 860;
const LEFT = 150;
const RIGHT = 120;
const TOP = 44;
const ROW = 26;
const BOTTOM = 40;
/** Both are seen on white and on black. */
const OWN = '#0969da';
const PEER = '#8b949e';
const TEXT = '#7d8590';

/** What is plotted, if it is not lateness. */
export interface Plotted {
  readonly caption: string;
  /** Below it, differences are of no interest, and a logarithm has no place for 0. */
  readonly leastMs: Millis;
}

const LATENESS: Plotted = {
  caption: "lateness of the handler's start: dot p50, bar to p99, line to the maximum",
  leastMs: 1,
};

/** Times of several systems on a logarithmic scale, as SVG. */
export function plotRanges(title: string, ranges: readonly Range[], { caption, leastMs } = LATENESS): string {
  const shown = ranges.filter(({ p50 }) => Number.isFinite(p50));
  const decades = Math.max(1, Math.ceil(Math.log10(Math.max(...shown.map(({ max }) => max), leastMs) / leastMs)));
  const x = (ms: number): number => {
    const share = Math.log10(Math.max(leastMs, ms) / leastMs) / decades;
    return round(LEFT + share * (WIDTH - LEFT - RIGHT));
  };
  const height = TOP + shown.length * ROW + BOTTOM;
  const ticks = Array.from({ length: decades + 1 }, (_, decade) => leastMs * 10 ** decade);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${String(WIDTH)} ${String(height)}" ` +
      `font-family="sans-serif" font-size="13" fill="${TEXT}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<text x="8" y="20" font-size="15" font-weight="bold">${escaped(title)}</text>`,
    ...ticks.map((ms) => gridLine(x(ms), height - BOTTOM, ms)),
    ...shown.map((range, index) => rangeRow(range, TOP + index * ROW + ROW / 2, x)),
    `<text x="8" y="${String(height - 8)}" font-size="11">${escaped(caption)}</text>`,
    '</svg>',
    '',
  ].join('\n');
}

function gridLine(x: number, bottom: number, ms: number): string {
  const label = ms >= 1_000 ? `${String(ms / 1_000)} s` : `${String(ms)} ms`;
  return (
    `<line x1="${String(x)}" y1="${String(TOP - 8)}" x2="${String(x)}" y2="${String(bottom)}" ` +
    `stroke="${TEXT}" stroke-opacity="0.25"/>` +
    `<text x="${String(x)}" y="${String(bottom + 14)}" font-size="11" text-anchor="middle">${label}</text>`
  );
}

function rangeRow({ label, p50, p99, max, own }: Range, y: number, x: (ms: number) => number): string {
  const colour = own ? OWN : PEER;
  const line = (from: number, to: number, width: number, opacity: string): string =>
    `<line x1="${String(x(from))}" y1="${String(y)}" x2="${String(x(to))}" y2="${String(y)}" ` +
    `stroke="${colour}" stroke-width="${String(width)}" stroke-opacity="${opacity}"/>`;
  return [
    `<text x="${String(LEFT - 10)}" y="${String(y + 4)}" text-anchor="end">${escaped(label)}</text>`,
    line(p99, max, 1.5, '0.6'),
    line(p50, p99, 8, '0.5'),
    `<circle cx="${String(x(p50))}" cy="${String(y)}" r="5" fill="${colour}"/>`,
    `<text x="${String(x(max) + 10)}" y="${String(y + 4)}" font-size="11">` +
      `${milliseconds(p50)} / ${milliseconds(p99)} ms</text>`,
  ].join('');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
