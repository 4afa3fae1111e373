import { CronExpressionParser } from 'cron-parser';
import { ScheduleError } from '../../core/schedule/schedule-error';
import { ncrontabFields, timeSpan } from '../../import/ncrontab-fields';
import { AppLoadError, resolveSettings } from './app-folder';

/** The first fire strictly after an instant; both in milliseconds since 1970. */
export type NextFire = (after: number) => number;

/**
 * Compiles the schedule of a timer trigger as the real host reads it: NCRONTAB with 6 fields (seconds first) or 5, in
 * UTC; a time span between two fires; or a `%SETTING%` that contains one. Unlike in Vixie cron, day of month and day of
 * week must both match.
 * @throws {@link AppLoadError}
 * @see https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer#ncrontab-expressions
 */
export function parseSchedule(schedule: string, functionName: string): NextFire {
  const resolved = resolveSettings(schedule, `the schedule of function '${functionName}'`).trim();
  const refuse = (why: string, cause?: unknown): AppLoadError =>
    new AppLoadError(
      `Function '${functionName}': the schedule '${resolved}' is not a valid NCRONTAB expression: ${why} ` +
        'Use 6 fields: second minute hour day month day-of-week, such as "0 */5 * * * *".',
      { cause },
    );
  const period = timeSpan(resolved);
  if (period !== undefined && period > 0) return (after) => after + period;
  const lists = fieldsOf(resolved, refuse);
  const weekdays = new Set(lists[5]);
  const days = [...lists.slice(0, 5).map((values) => values.join(',')), '*'].join(' ');
  try {
    const next: NextFire = (after) => {
      const found = CronExpressionParser.parse(days, { currentDate: new Date(after), tz: 'UTC' });
      // 28 years: by then every date has fallen on every weekday.
      for (const limit = after + 28 * 366 * 86_400_000; ;) {
        const date = found.next().toDate();
        if (weekdays.has(date.getUTCDay())) return date.getTime();
        if (date.getTime() > limit) throw refuse('it never fires.');
        // The whole day is out: continue at its end, and not through every second of it.
        found.reset(new Date(date.setUTCHours(23, 59, 59, 999)));
      }
    };
    next(Date.now());
    return next;
  } catch (error) {
    if (error instanceof AppLoadError) throw error;
    throw refuse(`${(error as Error).message}.`, error);
  }
}

function fieldsOf(
  text: string,
  refuse: (why: string, cause: unknown) => AppLoadError,
): ReturnType<typeof ncrontabFields> {
  try {
    return ncrontabFields(text);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    throw refuse(`it ${error.message}.`, error);
  }
}
