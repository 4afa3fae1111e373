import type { Millis } from '../core/brand';
import { formatDuration } from '../core/duration';
import { ScheduleError } from '../core/schedule/schedule-error';
import { type Scheduled, scheduled } from './clock-policy';
import { type Dialect, MACROS, readFields } from './cron-field';
import { type CronValues, type Days, inEither, inMonth, inWeek } from './cron-text';
import type { SourceOptions } from './draft';

const UNITS: ReadonlyMap<string, number> = new Map([
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
]);

interface GoCronOptions extends SourceOptions {
  /** Six fields have seconds first. */
  readonly fields: 5 | 6;
}

export interface GoTiming {
  readonly timing: Scheduled;
  /**
   * As written, if the schedule is a period: its due times shift, because it counts from the last run, a job from 1970.
   */
  readonly period?: string;
}

/**
 * A schedule of the Go package robfig/cron, by which Kubernetes and Ofelia run.
 * @throws ScheduleError
 */
export function goCron(text: string, { timeZone, now, fields }: GoCronOptions): GoTiming {
  const prefixed = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/.exec(text.trim());
  const written = prefixed?.[2] ?? text.trim();
  const every = /^@every\s+(\S+)$/.exec(written)?.[1];
  if (every !== undefined) {
    return { timing: { schedule: `@every ${formatDuration(goDuration(every))}` }, period: written };
  }
  const macro = MACROS.get(written);
  const values = macro === undefined ? valuesOf(written, fields) : valuesOf(macro, 5);
  const zone = prefixed?.[1] ?? timeZone;
  const { differs, ...timing } = scheduled(
    { values, written: macro ?? written, timeZone: zone, rule: 'eachTime' },
    now,
  );
  if (differs !== undefined) throw new Error(`a schedule that follows the clock differs: ${differs}`);
  return { timing };
}

const GO: Dialect = { all: '*?', openStep: 'toEnd', backwards: 'refuse', weekdays: { least: 0, most: 6 } };

function valuesOf(text: string, wanted: 5 | 6): CronValues {
  const fields = text.split(/\s+/);
  if (fields.length !== wanted) {
    const remedy = wanted === 5 ? 'must be five fields' : 'must be six fields with seconds first';
    throw new ScheduleError(`has ${fields.length} fields`, `${remedy}, or @daily, @hourly and the like`);
  }
  const six = wanted === 5 ? ['0', ...fields] : fields;
  const [seconds = [], minutes = [], hours = [], month = [], months = [], week = []] = readFields(six, GO);
  const [, , , dayText = '', , weekdayText = ''] = six;
  return { seconds, minutes, hours, months, days: daysOf(dayText, month, weekdayText, week) };
}

function daysOf(dayText: string, month: readonly number[], weekdayText: string, week: readonly number[]): Days {
  if (/^[*?]$/.test(weekdayText)) return inMonth(month);
  if (/^[*?]$/.test(dayText)) return inWeek(week);
  if (/[*?]/.test(dayText + weekdayText)) {
    throw new ScheduleError(
      'has a step of all days beside the other day field: versions of its cron disagree whether both must match',
      'use the days themselves in one of the two fields, and * in the other',
    );
  }
  return inEither(month, week);
}

/**
 * Reads a duration of Go's `time.ParseDuration`, such as `1h30m` or `1.5h`, in whole seconds as `@every` takes it.
 * @throws ScheduleError
 */
function goDuration(text: string): Millis {
  const parts = [...text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s)/g)];
  const sum = parts.reduce((ms, [, number, unit]) => ms + Number(number) * (UNITS.get(unit ?? '') ?? 0), 0);
  // 2.3 h makes a little less than 8,280 s.
  const ms = Math.round(sum * 1000) / 1000;
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text || ms === 0) {
    throw new ScheduleError(`has "${text}" after @every`, 'must be a duration such as 90s or 1h30m');
  }
  return Math.max(1, Math.floor(ms / 1000)) * 1000;
}
