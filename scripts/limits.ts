import { readFileSync } from 'node:fs';
import path from 'node:path';
import { formatDuration } from '../src/core/duration';

type Unit = 'bytes' | 'ms' | 'count' | 'characters';

/** A limit, and the constant that holds it: `NAME`, or `NAME.member`. */
interface Limit {
  readonly what: string;
  readonly unit: Unit;
  readonly file: string;
  readonly constant: string;
}

function limit(what: string, unit: Unit, file: string, constant: string): Limit {
  return { what, unit, file: `src/${file}.ts`, constant };
}

/** By the section of docs/reference/limits.md. */
const LIMITS: Readonly<Record<string, readonly Limit[]>> = {
  file: [
    limit("the shortest lease of a job (Azure's limit, for every store)", 'ms', 'stores/limits', 'STORE_LIMITS.least'),
    limit("the longest lease of a job (Azure's limit, for every store)", 'ms', 'stores/limits', 'STORE_LIMITS.most'),
    limit('the `input` of a job, as JSON', 'bytes', 'core/job', 'INPUT_BYTES'),
    limit('jobs in `requires`', 'count', 'config/schema', 'REQUIRES_AT_MOST'),
    limit('receivers in `notify.to`', 'count', 'config/schema', 'RECEIVERS_AT_MOST'),
    limit('runs at once of a group', 'count', 'config/schema', 'MAX_PARALLEL'),
    limit('calendars of a file', 'count', 'config/readers', 'CALENDAR_LIMITS.calendars'),
    limit('entries of a calendar', 'count', 'config/readers', 'CALENDAR_LIMITS.entries'),
    limit('an iCalendar file', 'bytes', 'config/calendars', 'MOST_BYTES'),
  ],
  handler: [
    limit('the result of a handler, as JSON', 'bytes', 'coordinator/attempt/call-handler', 'RESULT_LIMIT'),
    limit(
      'the message and stack of an error in the ledger',
      'characters',
      'coordinator/attempt/call-handler',
      'TEXT_LIMIT',
    ),
    limit('each cause of that error', 'characters', 'coordinator/attempt/call-handler', 'CAUSE_LIMIT'),
    limit('causes of an error', 'count', 'core/recorded-error', 'MOST_CAUSES'),
    limit('items of a fan-out', 'count', 'handler/define-fan-out', 'MOST_ITEMS'),
    limit('items at once in one instance', 'count', 'handler/define-fan-out', 'MOST_AT_ONCE'),
    limit('the timeout and the waits of an item', 'ms', 'handler/define-fan-out', 'LONGEST_MS'),
    limit('all items of a plan, as JSON', 'bytes', 'coordinator/attempt/fan-out', 'PLAN_LIMIT'),
  ],
  operate: [
    limit('due times of a back-fill', 'count', 'core/backfill', 'BACKFILL_AT_MOST'),
    limit('a note with a change', 'characters', 'operator/change-control', 'NOTE_LENGTH'),
    limit('the body of a request to the HTTP API', 'bytes', 'manage/route', 'BODY_LIMIT'),
    limit('the time for an answer of the HTTP API', 'ms', 'manage/desk', 'ANSWER_LIMIT_MS'),
    limit('patterns of `CRONLEASE_REDACT`', 'count', 'functions/redact', 'MOST_PATTERNS'),
    limit('each of these patterns', 'characters', 'functions/redact', 'LONGEST_PATTERN'),
    limit('the wait for a receiver of notices to answer', 'ms', 'notices/request', 'POST_LIMIT_MS'),
    limit('the wait that a receiver may ask for (`Retry-After`)', 'ms', 'core/delivery', 'RETRY_AFTER_AT_MOST_MS'),
    limit('jobs with their own metrics', 'count', 'telemetry/settings', 'MOST_JOBS'),
  ],
  storage: [
    limit('the metadata of a row', 'bytes', 'stores/limits', 'STORE_LIMITS.metadataBytes'),
    limit('a record, control or piece', 'bytes', 'stores/limits', 'BODY_BYTES'),
    limit('one call to storage', 'ms', 'lease/deadline', 'CALL_LIMIT_MS'),
    limit('a listing', 'ms', 'coordinator/tick/survey', 'LISTING_LIMIT_MS'),
    limit(
      'the wait of other deployments for the one that ran a job last',
      'ms',
      'coordinator/tick/notes',
      'HOLD_BACK_MS',
    ),
    limit('the wait for the last calls at a shutdown', 'ms', 'coordinator/drain', 'DRAIN_LIMIT_MS'),
  ],
};

/** The sections, each with a row for each limit: what it bounds, and its value. */
export function limitRows(root: string): Readonly<Record<string, readonly (readonly string[])[]>> {
  return Object.fromEntries(
    Object.entries(LIMITS).map(([section, limits]) => [
      section,
      limits.map(({ what, unit, file, constant }) => [what, inUnit(constantIn(root, file, constant), unit)]),
    ]),
  );
}

/** The value of a constant that is a product of numbers, or of a member of an object of such. */
export function constantIn(root: string, file: string, constant: string): number {
  const source = readFileSync(path.join(root, file), 'utf8');
  const [name = '', member] = constant.split('.');
  const text = new RegExp(`^(?:export )?const ${name}(?:: \\w+)? = ([^;]*);`, 'm').exec(source)?.[1];
  const value = member === undefined ? text : new RegExp(`\\b${member}: ([^,}]*)`).exec(text ?? '')?.[1];
  if (value === undefined) throw new Error(`no constant ${constant}`);
  const hours = /^const HOUR = ([\d_]+);/m.exec(source)?.[1] ?? '';
  const product = value
    .split('*')
    .map((factor) => Number(factor.trim().replace('HOUR', hours).replaceAll('_', '')))
    .reduce((all, factor) => all * factor, 1);
  if (Number.isNaN(product)) throw new Error(`${constant} is not a product of numbers: ${value}`);
  return product;
}

function inUnit(value: number, unit: Unit): string {
  switch (unit) {
    case 'ms':
      return value % 1_000 === 0 ? formatDuration(value) : `${value} ms`;
    case 'bytes':
      return value >= 1024 * 1024 ? `${value / 1024 / 1024} MB` : `${value / 1024} KB`;
    case 'characters':
      return `${value.toLocaleString('en-US')} characters`;
    case 'count':
      return value.toLocaleString('en-US');
  }
}
