import type { EpochMs, Millis } from '../brand';
import { parseDuration } from '../duration';
import { parseCron, type Cron } from './cron';
import { parseInstant } from './moment';
import { ScheduleError } from './schedule-error';

/** A parsed `schedule` setting, without zone and policies. */
export type Schedule =
  | ({ readonly kind: 'cron' } & Cron)
  | { readonly kind: 'every'; readonly period: Millis }
  | { readonly kind: 'at'; readonly at: EpochMs }
  | { readonly kind: 'always' }
  | { readonly kind: 'manual' };

const MACROS: ReadonlyMap<string, string> = new Map([
  ['@hourly', '0 * * * *'],
  ['@daily', '0 0 * * *'],
  ['@weekly', '0 0 * * 0'],
  ['@monthly', '0 0 1 * *'],
  ['@yearly', '0 0 1 1 *'],
]);

const WORDS = '@hourly, @daily, @weekly, @monthly, @yearly, @every 90s, @at 2026-12-31T23:00:00Z, @always or @manual';

/** Look-ups end 5 years ahead, so a longer period would never be due. */
const LONGEST_PERIOD = 5 * 365 * 86_400_000;

/**
 * Reads the text of a `schedule` setting.
 * @throws ScheduleError with the remedy.
 */
export function parseSchedule(text: string): Schedule {
  const [word = '', ...rest] = text.trim().split(/\s+/);
  if (!word.startsWith('@')) return { kind: 'cron', ...parseCron(text) };
  const argument = rest.join(' ');
  switch (word) {
    case '@every':
      return { kind: 'every', period: parsePeriod(argument) };
    case '@at':
      return { kind: 'at', at: parseOnce(argument) };
  }
  if (argument !== '') throw new ScheduleError(`has "${argument}" after ${word}`, `use only ${word}`);
  if (word === '@always') return { kind: 'always' };
  if (word === '@manual') return { kind: 'manual' };
  const cron = MACROS.get(word);
  if (cron === undefined) throw new ScheduleError(`begins with ${word}, which is unknown`, `use ${WORDS}`);
  return { kind: 'cron', ...parseCron(cron) };
}

function parsePeriod(text: string): Millis {
  const remedy = 'use @every and a duration from 1s to 1825d, such as @every 90s or @every 1h30m';
  const period = parseDuration(text);
  if (period === undefined)
    throw new ScheduleError(`has ${text === '' ? 'no duration' : `"${text}"`} after @every`, remedy);
  if (period === 0 || period > LONGEST_PERIOD) throw new ScheduleError(`has a period of ${text}`, remedy);
  return period;
}

function parseOnce(text: string): EpochMs {
  const at = parseInstant(text);
  if (at < 0) throw new ScheduleError('is before 1970, when nothing is ever due', 'use a later time');
  return at;
}
