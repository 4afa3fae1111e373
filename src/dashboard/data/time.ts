import { param } from './address';
import { type Scale, positionOf } from './marks';

export const ZONES = { mine: 'My time', job: "Job's time", utc: 'UTC' } as const;

/** The viewer's zone. A browser that does not know it has a name for that, which it does not take back. */
export const MINE = knownZone(new Intl.DateTimeFormat().resolvedOptions().timeZone);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function knownZone(name: string): string {
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone: name }).resolvedOptions().timeZone;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return 'UTC';
  }
}

/** The zone to show a job's times in. */
export function zoneOf(timeZone: string | null | undefined): string {
  const choice = param('zone');
  if (choice === 'utc') return 'UTC';
  return choice === 'job' ? shownZone(timeZone ?? 'UTC') : MINE;
}

const zones = new Map<string, string>();

/** The zone, or UTC: the zones of a browser may be older than those of the app. */
export function shownZone(zone: string): string {
  const shown = zones.get(zone) ?? (knownZone(zone) === 'UTC' ? 'UTC' : zone);
  zones.set(zone, shown);
  return shown;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone} ${JSON.stringify(options)}`;
  let format = formats.get(key);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-GB', { timeZone: shownZone(zone), hourCycle: 'h23', ...options });
    formats.set(key, format);
  }
  return format;
}

const CLOCK = { hour: '2-digit', minute: '2-digit' } as const;
const SECONDS = { ...CLOCK, second: '2-digit' } as const;
const DATE = { day: 'numeric', month: 'short' } as const;
const FULL = { weekday: 'short', ...DATE, year: 'numeric', ...SECONDS } as const;
const DAY_NUMBERS = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;

/** `14:05` today, `21 Nov 14:05` on another day, with the year where it is another one. */
export function shortTime(at: number, zone: string, now: number): string {
  return `${dayPrefix(at, zone, now)}${formatOf(zone, CLOCK).format(at)}`;
}

/** As {@link shortTime}, with seconds. */
export function exactTime(at: number, zone: string, now: number): string {
  return `${dayPrefix(at, zone, now)}${formatOf(zone, SECONDS).format(at)}`;
}

function dayPrefix(at: number, zone: string, now: number): string {
  if (dayOf(at, zone) === dayOf(now, zone)) return '';
  const year = formatOf(zone, { year: 'numeric' });
  const date = year.format(at) === year.format(now) ? DATE : { ...DATE, year: 'numeric' as const };
  return `${formatOf(zone, date).format(at)} `;
}

export function dayOf(at: number, zone: string): string {
  return formatOf(zone, DAY_NUMBERS).format(at);
}

/** A whole instant, for a tooltip: `Sat 21 Nov 2026, 14:05:09 Europe/Berlin`. */
export function fullTime(at: number, zone: string): string {
  return `${formatOf(zone, FULL).format(at)} ${shownZone(zone)}`;
}

/** The zone's offset from UTC at an instant, in minutes. */
export function offsetAt(at: number, zone: string): number {
  const parts = new Map(
    formatOf(zone, { ...DAY_NUMBERS, ...SECONDS })
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
  const wall = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return Math.round((wall - Math.floor(at / 1_000) * 1_000) / MINUTE);
}

/** A wall time of a zone. Of two, the first one; of none, the one an hour later. */
export function instantIn(text: string, zone: string): number | undefined {
  const wall = Date.parse(`${text}Z`);
  if (Number.isNaN(wall)) return undefined;
  // No clock is a day from UTC: these are the offsets before and after it.
  const found = [wall - DAY, wall + DAY].map((at) => wall - offsetAt(at, zone) * MINUTE);
  return found.find((at) => at + offsetAt(at, zone) * MINUTE === wall) ?? found[0];
}

/** `in 4 min`, `2 h ago`, `now`. */
export function relative(at: number, now: number): string {
  const distance = Math.abs(at - now);
  if (distance < 1_000) return 'now';
  return at > now ? `in ${span(distance)}` : `${span(distance)} ago`;
}

/** A length of time by its largest unit, or two of them where one would be coarse: `45 s`, `4 min`, `1 h 20 min`. */
export function span(ms: number): string {
  if (ms < MINUTE) return `${String(Math.floor(ms / 1_000))} s`;
  if (ms < HOUR) return `${String(Math.floor(ms / MINUTE))} min`;
  if (ms < 10 * HOUR) return two(ms, HOUR, 'h', MINUTE, 'min');
  if (ms < DAY) return `${String(Math.floor(ms / HOUR))} h`;
  if (ms < 10 * DAY) return two(ms, DAY, 'd', HOUR, 'h');
  return `${String(Math.floor(ms / DAY))} d`;
}

function two(ms: number, unit: number, name: string, smaller: number, smallerName: string): string {
  const rest = Math.floor((ms % unit) / smaller);
  return `${String(Math.floor(ms / unit))} ${name}${rest === 0 ? '' : ` ${String(rest)} ${smallerName}`}`;
}

/** A measured length of time: `80 ms`, `2.4 s`, `3 min 20 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${String(Math.round(ms))} ms`;
  if (ms < MINUTE) return `${String(Number((ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)))} s`;
  if (ms < HOUR) return two(ms, MINUTE, 'min', 1_000, 's');
  if (ms < DAY) return two(ms, HOUR, 'h', MINUTE, 'min');
  return two(ms, DAY, 'd', HOUR, 'h');
}

/** A length of time as it is set, with all its units: `1 d 2 h 30 min`. */
export function exactly(ms: number): string {
  const parts = [
    [Math.floor(ms / DAY), 'd'],
    [Math.floor(ms / HOUR) % 24, 'h'],
    [Math.floor(ms / MINUTE) % 60, 'min'],
    [(ms % MINUTE) / 1_000, 's'],
  ] as const;
  const shown = parts.filter(([count]) => count > 0).map(([count, unit]) => `${String(count)} ${unit}`);
  return shown.length === 0 ? '0 s' : shown.join(' ');
}

const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12, 24, 48, 168].map((count) => count * HOUR),
];

/** Round times of the zone, as many as their labels leave room for. */
export function ticksOf(scale: Scale, zone: string, labelWidth: number) {
  const room = Math.max(1, Math.floor(scale.width / labelWidth));
  const span = scale.until - scale.from;
  const step = STEPS.find((one) => span / one <= room) ?? 24 * 28 * HOUR;
  const ticks: { readonly at: number; readonly x: number; readonly label: string }[] = [];
  let last: number | undefined;
  const offsetOf = (at: number): number => offsetAt(at, zone) * MINUTE;
  // Where the clocks change, the time that follows by the step is not a round one.
  const round = (at: number): number => Math.round((at + offsetOf(at)) / step) * step - offsetOf(at);
  const offset = offsetOf(scale.from);
  for (let at = Math.ceil((scale.from + offset) / step) * step - offset; at <= scale.until; at = round(at + step)) {
    // Only the first label of a day has the day.
    const label = shortTime(at, zone, last === undefined || dayOf(last, zone) === dayOf(at, zone) ? at : last);
    ticks.push({ at, x: positionOf(scale, at), label });
    last = at;
  }
  return ticks;
}
