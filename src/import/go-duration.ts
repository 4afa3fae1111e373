import type { Millis } from '../core/brand';
import { ScheduleError } from '../core/schedule/schedule-error';

const UNITS: ReadonlyMap<string, number> = new Map([
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
]);

/**
 * Reads a duration of Go's `time.ParseDuration`, such as `1h30m` or `1.5h`, in whole seconds as `@every` takes it.
 * @throws ScheduleError
 */
export function goDuration(text: string): Millis {
  const parts = [...text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s)/g)];
  const ms = parts.reduce((sum, [, number, unit]) => sum + Number(number) * (UNITS.get(unit ?? '') ?? 0), 0);
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text || ms === 0) {
    throw new ScheduleError(`has "${text}" after @every`, 'write a duration such as 90s or 1h30m');
  }
  return Math.max(1, Math.floor(ms / 1000)) * 1000;
}
