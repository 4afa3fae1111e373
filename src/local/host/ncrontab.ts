import { CronExpressionParser } from 'cron-parser';
import { AppLoadError, resolveSettings } from './app-folder';

/** The first fire strictly after an instant; both in milliseconds since 1970. */
export type NextFire = (after: number) => number;

/** The syntax of an NCRONTAB field; `L`, `#`, `?` and the like belong to other dialects. */
const FIELD =
  /^(?:\*|[a-z]{3}|\d+)(?:-(?:[a-z]{3}|\d+))?(?:\/\d+)?(?:,(?:\*|[a-z]{3}|\d+)(?:-(?:[a-z]{3}|\d+))?(?:\/\d+)?)*$/i;

/**
 * Compiles the schedule of a timer trigger: NCRONTAB with 6 fields (seconds first), in UTC, or a `%SETTING%` that
 * contains one. Unlike in Vixie cron, day of month and day of week must both match.
 * @throws {@link AppLoadError}
 * @see https://learn.microsoft.com/azure/azure-functions/functions-bindings-timer#ncrontab-expressions
 */
export function parseNcrontab(schedule: string, functionName: string): NextFire {
  const resolved = resolveSettings(schedule, `the schedule of function '${functionName}'`).trim();
  const refuse = (why: string, cause?: unknown): AppLoadError =>
    new AppLoadError(
      `Function '${functionName}': the schedule '${resolved}' is not a valid NCRONTAB expression: ${why} ` +
        'Use 6 fields: second minute hour day month day-of-week, such as "0 */5 * * * *".',
      { cause },
    );
  const fields = resolved.split(/\s+/);
  if (fields.length !== 6) throw refuse(`it has ${fields.length} fields.`);
  const wrong = fields.find((field) => !FIELD.test(field));
  if (wrong !== undefined) throw refuse(`'${wrong}' is not understood.`);
  const days = fields.with(5, '*').join(' ');
  try {
    const expression = CronExpressionParser.parse(resolved, { tz: 'UTC' });
    const weekdays = new Set(expression.fields.dayOfWeek.values.map((day) => Number(day) % 7));
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
