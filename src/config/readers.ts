import * as z from 'zod';
import type { JobName, Millis } from '../core/brand';
import { DURATION_PATTERN, formatDuration, parseDuration } from '../core/duration';
import { parseMoment } from '../core/schedule/moment';
import { ScheduleError } from '../core/schedule/schedule-error';

export const JOB_NAME = /^[a-z0-9-]{1,63}$/;

/** The command line's word for all jobs. */
export const ALL_JOBS = 'all';

export function isJobName(name: string): name is JobName {
  return JOB_NAME.test(name);
}

type Context = z.core.$RefinementCtx;

// Patterns are for editors: they catch obvious mistakes while typing. The readers below decide.
export const DAY = String.raw`\d{4}-\d\d-\d\d`;
const ZONED = String.raw`${DAY}[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)`;
const MOMENT = String.raw`^(${DAY}(T\d\d:\d\d(:\d\d)?)?|${ZONED})$`;
export const SCHEDULE = String.raw`^\s*(@(hourly|daily|weekly|monthly|yearly|always|manual)|@every\s+[\ddhms]+|@at\s+${ZONED}|[^@\s]\S*(\s+\S+){4,5})\s*$`;

/** Adds an issue with its own remedy; `zod-issues.ts` reads it. */
export function refuse(context: Context, message: string, remedy: string): never {
  context.issues.push({ code: 'custom', message, input: context.value, params: { remedy } });
  return z.NEVER;
}

/** Turns a reader that throws {@link ScheduleError} into one that reports an issue. */
export function reading<Raw, Value>(read: (raw: Raw) => Value): (raw: Raw, context: Context) => Value {
  return (raw, context) => {
    try {
      return read(raw);
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error;
      return refuse(context, error.message, error.remedy);
    }
  };
}

const DURATION_REMEDY = 'must be whole numbers with the units d, h, m, s in that order, such as 45s, 10m, 1h30m or 7d';

export function duration(
  description: string,
  options: { readonly least?: Millis; readonly most?: Millis; readonly examples?: readonly string[] } = {},
) {
  const { least = 1000, most = Infinity, examples = ['45s', '10m', '1h30m', '7d'] } = options;
  const remedy =
    most === Infinity
      ? `must be ${formatDuration(least)} or more`
      : `must be ${formatDuration(least)} to ${formatDuration(most)}`;
  return z
    .string()
    .meta({ description, pattern: DURATION_PATTERN.source, examples: [...examples] })
    .transform((text, context): Millis => {
      const ms = parseDuration(text);
      if (ms === undefined) return refuse(context, 'is not a duration', DURATION_REMEDY);
      if (ms < least) return refuse(context, `is shorter than ${formatDuration(least)}`, remedy);
      if (ms > most) return refuse(context, `is longer than ${formatDuration(most)}`, remedy);
      return ms;
    });
}

const MOMENT_WORDS = "a date (its start), a local date and time in the job's zone, or RFC 3339 with Z or an offset";
const MOMENT_EXAMPLES = ['2026-12-24', '2026-12-24T18:00', '2026-12-24T18:00:00Z'];

export function moment(description: string) {
  return z
    .string()
    .meta({ description: `${description}: ${MOMENT_WORDS}.`, pattern: MOMENT, examples: MOMENT_EXAMPLES })
    .transform(reading(parseMoment));
}

export function json(context: { readonly value: unknown; readonly issues: z.core.$ZodRawIssue[] }): void {
  if (isJson(context.value, 0)) return;
  context.issues.push({
    code: 'custom',
    message: 'is not JSON',
    input: context.value,
    params: { remedy: 'use null, true, false, finite numbers, text, lists and plain objects, at most 200 deep' },
  });
}

function isJson(value: unknown, depth: number): boolean {
  if (depth > 200) return false;
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  const plain = prototype === null || prototype === Object.prototype;
  return plain && Object.values(value).every((member) => member === undefined || isJson(member, depth + 1));
}
