import type * as z from 'zod';
import { type Path, type PathIssue, valueAt } from './config-error';
import type { jobSchema, topSchema } from './schema';
import { insteadOf } from './suggest';

type JobMember = keyof typeof jobSchema.shape;

/** The remedy for a missing value, or one of the wrong kind, by setting. */
const REMEDIES: Readonly<Record<JobMember | keyof typeof topSchema.shape, string>> &
  Readonly<Partial<Record<string, string>>> = {
  $schema: 'must be the path of the schema, such as "./schema/jobs.schema.json"',
  revision: 'must be a whole number from 0, or left out',
  calendars: 'must be an object of lists by name: {"holidays": ["2026-12-25", {"yearly": "01-01"}]}',
  'calendars.*': 'must be a list of at most 5000 entries, such as ["2026-12-25", {"yearly": "01-01"}]',
  'calendars.*[]':
    'must be a date such as "2026-12-25", {"from": …, "to": …}, {"yearly": "12-25"}, or {"file": "holidays.ics"}',
  'calendars.*[].from': 'must be a date such as "2026-12-24"',
  'calendars.*[].to': 'must be a date such as "2026-12-24", the first day that is not excepted',
  'calendars.*[].yearly': 'must be month and day, such as "12-25"',
  'calendars.*[].days': 'must be a whole number from 1 to 366',
  'calendars.*[].since': 'must be a year from 1970, or left out',
  'calendars.*[].until': 'must be a year from 1970, or left out',
  'calendars.*[].name': 'must be text, or left out',
  'calendars.*[].file': 'must be the path of an iCalendar file, such as "holidays.ics"',
  ...filterRemedies('select'),
  ...filterRemedies('exclude'),
  groups: 'must be an object of groups by name: {"db": {"maxParallel": 3}}',
  'groups.*': 'must be an object such as {"maxParallel": 3}',
  'groups.*.maxParallel': 'must be a whole number from 1 to 1000',
  notify: 'must be an object such as {"to": ["ops"], "after": 3, "remind": "4h"}, or some of it; for a job also false',
  'notify.to': 'must be a list of at most 40 names of receivers, such as ["ops"]',
  'notify.to[]': 'must be 1 to 63 characters of a-z 0-9 -, such as "ops"',
  'notify.on': 'must be a list of "failure", "recovery", "overdue", "unreadable" and "pause", or left out for all',
  'notify.on[]': 'must be "failure", "recovery", "overdue", "unreadable" or "pause"',
  'notify.after': 'must be a whole number from 1',
  'notify.remind': 'must be a duration such as "4h", or left out',
  jobs: 'must be an object of jobs by name: {"nightly-report": {"schedule": "0 3 * * *"}}',
  schedule: 'must be a cron expression such as "0 3 * * *", or @every 90s, @at 2026-12-31T23:00:00Z, @always, @manual',
  timeZone: 'must be an IANA name such as "Europe/Lisbon"',
  dst: 'must be an object such as {"gap": "skip", "overlap": "both"}',
  'dst.gap': 'must be "forward" or "skip"',
  'dst.overlap': 'must be "first", "second" or "both"',
  between: 'must be an object such as {"from": "2026-01-01", "to": "2027-01-01"}, with one of the two or both',
  'between.from': 'must be a date such as "2026-12-24"',
  'between.to': 'must be a date such as "2026-12-24"',
  except: 'must be a list of dates or spans: ["2026-12-25", {"from": "2026-08-01", "to": "2026-09-01"}]',
  'except[]':
    'must be a date such as "2026-12-25", {"from": "2026-08-01", "to": "2026-09-01"}, or {"calendar": "holidays"}',
  'except[].calendar': "must be the name of one of the file's calendars",
  'except[].name': 'must be text, or left out',
  'except[].from': 'must be a date such as "2026-12-24"',
  'except[].to': 'must be a date such as "2026-12-24", the first day that is not excepted',
  catchUp: 'must be "latest", "all" or "none"',
  catchUpWindow: 'must be a duration such as "1h"',
  overlap: 'must be "skip", "queue" or "cancel"',
  requires: 'must be a list of at most 16 names of jobs, such as ["extract"]',
  'requires[]': 'must be the name of a job of this file',
  requireWithin: 'must be a duration such as "30m", or left out',
  group: 'must be the name of one of the file\'s groups, such as "db", or left out',
  priority: 'must be a whole number from 0 to 9: 9 goes first',
  spread: 'must be a duration such as "5m"',
  timeout: 'must be a duration such as "10m", or left out',
  stallAfter: 'must be a duration such as "2m", or left out',
  grace: 'must be a duration such as "5s"',
  retry:
    'must be an object such as {"attempts": 3, "backoff": "10s", "factor": 2, "maxBackoff": "5m", "jitter": "full"}, or some of it',
  'retry.attempts': 'must be a whole number from 1 (no second attempt)',
  'retry.backoff': 'must be a duration such as "10s"',
  'retry.factor': 'must be a number from 1',
  'retry.maxBackoff': 'must be a duration such as "5m"',
  lease: 'must be a duration such as "30s"',
  pauseAfterFailures: 'must be a whole number from 1, or left out',
  alertAfter: 'must be a duration such as "1d", or left out',
  ping: 'must be a name of an address in CRONLEASE_PINGS, such as "nightly", or left out',
  keep: 'must be a duration such as "90d"',
  logs: 'must be "keep", "host" or "none"',
  input: 'must be JSON that the handler accepts',
  handler: 'must be a name from the registry of handlers, or left out',
  call: 'must be an object such as {"url": "https://billing.example.com/api/close"}, or left out',
  'call.url': 'must be an address such as "https://billing.example.com/api/close"',
  'call.method': 'must be "GET", "HEAD", "POST", "PUT", "PATCH" or "DELETE"',
  'call.headers': 'must be an object of texts by name: {"x-team": "billing"}',
  'call.headers.*': 'must be text',
  'call.body': 'must be JSON, or text',
  'call.identity': 'must be an audience such as "api://billing", or left out',
  'call.expect': 'must be a list of statuses such as [200, 404], or left out',
  'call.expect[]': 'must be a status from 200 to 599',
  description: 'must be text, or left out',
  tags: 'must be a list of words, such as ["nightly"]',
  'tags[]': 'must be a word',
  enabled: 'must be true or false',
};

/** A part of the remedies, for `select` and `exclude` of an iCalendar file. */
function filterRemedies(member: string): Readonly<Record<string, string>> {
  const place = `calendars.*[].${member}`;
  const text = 'must be a text of the events, such as "Public holiday"';
  return {
    [place]: 'must be an object such as {"categories": ["Public holiday"]}, {"summary": ["*(observed)"]}, or both',
    [`${place}.categories`]: 'must be a list of categories, such as ["Public holiday"], or left out',
    [`${place}.categories[]`]: text,
    [`${place}.summary`]: 'must be a list of summaries, such as ["*(observed)"], or left out',
    [`${place}.summary[]`]: text,
  };
}

/** The kinds of values, from zod's names to words. */
const KINDS: Readonly<Partial<Record<string, string>>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
};

/** An issue with its path in the checked part, and unions resolved. */
interface Flat {
  readonly issue: z.core.$ZodIssue;
  readonly path: Path;
}

/**
 * Translates zod's issues about one part of a file into ours.
 * @param at the part's place in the file
 * @param known the part's own members, to suggest one for an unknown member
 * @param ofJobs the members of jobs, if an unknown member may be one of these in the wrong place
 */
export function issuesOf(
  issues: readonly z.core.$ZodIssue[],
  part: unknown,
  at: Path,
  known: readonly string[],
  ofJobs: readonly string[] = [],
): PathIssue[] {
  return issues
    .flatMap((issue) => flatten(issue, []))
    .flatMap(({ issue, path }) => {
      const place = path
        .map((key) => (typeof key === 'number' ? '[]' : `.${key}`))
        .join('')
        .slice(1)
        .replace(/^calendars\.[^[]*/, 'calendars.*')
        .replace(/^groups\.[^.]*/, 'groups.*')
        .replace(/^call\.headers\..*/, 'call.headers.*');
      const value = valueAt(part, path);
      if (issue.code === 'unrecognized_keys') {
        const members = path.length === 0 ? known : membersOf(place);
        return issue.keys.map((key) => ({
          path: [...at, ...path, key],
          value: valueAt(value, [key]) ?? null,
          message: 'is not a setting',
          remedy: ofJobs.includes(key) ? 'it is a setting of a job: set it in each job' : insteadOf(key, members),
        }));
      }
      const { message, remedy = REMEDIES[place] ?? REMEDIES.jobs } = wordsFor(issue, value);
      return [{ path: [...at, ...path], value: value ?? null, message, remedy }];
    });
}

/** How many issues {@link issuesOf} makes of these. */
export function countOf(issues: readonly z.core.$ZodIssue[]): number {
  return issues
    .flatMap((issue) => flatten(issue, []))
    .reduce((count, { issue }) => count + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0);
}

function flatten(issue: z.core.$ZodIssue, at: Path): readonly Flat[] {
  const path = [...at, ...issue.path.filter((key) => typeof key !== 'symbol')];
  if (issue.code === 'invalid_union') {
    // Report the branch that accepts this kind of value, and its members if one does.
    const kind = issue.errors.filter((errors) =>
      errors.every((error) => error.code !== 'invalid_type' || error.path.length > 0),
    );
    const meant = kind.find((errors) => errors.every(({ code }) => code !== 'unrecognized_keys')) ?? kind[0];
    if (meant !== undefined) return meant.flatMap((error) => flatten(error, path));
  }
  return [{ issue, path }];
}

function membersOf(place: string): readonly string[] {
  const inside = `${place}.`;
  return Object.keys(REMEDIES)
    .filter((key) => key.startsWith(inside))
    .map((key) => key.slice(inside.length));
}

function wordsFor(issue: z.core.$ZodIssue, value: unknown): { message: string; remedy?: string } {
  switch (issue.code) {
    case 'custom': {
      const remedy: unknown = issue.params?.['remedy'];
      return { message: issue.message, ...(typeof remedy === 'string' ? { remedy } : {}) };
    }
    case 'invalid_type':
      return { message: value === undefined ? 'is missing' : `is not ${KINDS[issue.expected] ?? issue.expected}` };
    case 'invalid_value':
      return typeof value === 'string'
        ? { message: 'is not one of its values', remedy: insteadOf(value, issue.values.map(String)) }
        : { message: value === undefined ? 'is missing' : 'is not one of its values' };
    case 'invalid_key':
      return { message: 'has a name that is not allowed', remedy: 'must be 1 to 63 characters of a-z 0-9 -' };
    case 'invalid_union':
      return { message: 'is neither a date nor an object' };
    case 'too_small':
      return { message: typeof value === 'string' ? 'is empty' : `is less than ${issue.minimum}` };
    case 'too_big':
      return { message: `is more than ${issue.maximum}` };
    default:
      return { message: issue.message };
  }
}
