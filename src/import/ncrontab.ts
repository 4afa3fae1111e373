import type { EpochMs } from '../core/brand';
import type { Scheduled } from './clock-policy';
import { inBoth } from './cron-text';
import { ncrontabFields } from './ncrontab-fields';
import { scheduledTimer } from './timer-clock';

/**
 * The schedule of a timer trigger with an NCRONTAB expression, of which both day fields must match.
 *
 * @throws ScheduleError
 */
export function ncrontab(text: string, timeZone: string, now: EpochMs): Scheduled {
  const [seconds = [], minutes = [], hours = [], month = [], months = [], week = []] = ncrontabFields(text);
  const values = { seconds, minutes, hours, months, days: inBoth(month, week) };
  return scheduledTimer({ values, written: text, timeZone }, now);
}
