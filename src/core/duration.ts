import type { Millis } from './brand';

/** The form of a duration, for editors and messages: days, hours, minutes, seconds, each once, in this order. */
export const DURATION_PATTERN = /^(?=\d)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Reads `45s`, `10m`, `1h30m`, `7d`: whole numbers, units d h m s, each once, in that order. `0s` is 0.
 * @returns milliseconds; undefined when the text is not a duration, or too long to count exactly.
 */
export function parseDuration(text: string): Millis | undefined {
  const match = DURATION_PATTERN.exec(text);
  if (match === null) return undefined;
  const [, days = 0, hours = 0, minutes = 0, seconds = 0] = match;
  const ms = Number(days) * DAY + Number(hours) * HOUR + Number(minutes) * MINUTE + Number(seconds) * SECOND;
  return Number.isSafeInteger(ms) ? ms : undefined;
}

/** Writes what {@link parseDuration} reads, in the largest units. Below a whole second it shows a fraction: `1.5s`. */
export function formatDuration(ms: Millis): string {
  const units: readonly (readonly [Millis, string])[] = [
    [DAY, 'd'],
    [HOUR, 'h'],
    [MINUTE, 'm'],
  ];
  let rest = ms;
  let text = '';
  for (const [size, unit] of units) {
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return rest > 0 || text === '' ? `${text}${rest / SECOND}s` : text;
}

/**
 * Reads a .NET time span as `host.json` has it: `hh:mm:ss` or `d.hh:mm:ss`. With 24 or more first, three parts are days,
 * hours and minutes: `24:00:00` is 24 days.
 *
 * @returns milliseconds; undefined when the text is neither.
 * @see https://learn.microsoft.com/dotnet/fundamentals/runtime-libraries/system-timespan-parse
 */
export function parseTimeSpan(text: string): Millis | undefined {
  const match = /^(?:(\d+)\.)?(\d+):(\d{1,2})(?::(\d{1,2}(?:\.\d+)?))?$/.exec(text);
  if (match === null) return undefined;
  const [, given, ...parts] = match;
  const [first = 0, second = 0, third] = parts.map((part) => (part === undefined ? undefined : Number(part)));
  const isDays = given === undefined && first > 23 && Number.isInteger(third);
  const [days, hours, minutes, seconds] = isDays
    ? [first, second, third ?? 0, 0]
    : [Number(given ?? 0), first, second, third ?? 0];
  if (hours > 23 || minutes > 59 || seconds >= 60) return undefined;
  return days * DAY + hours * HOUR + minutes * MINUTE + seconds * SECOND;
}

/** Whether `host.json` gives functions no time limit. */
export function isUnlimited(timeSpan: unknown): boolean {
  return timeSpan === '-1' || timeSpan === '-00:00:01';
}
