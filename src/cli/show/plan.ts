import type { EpochMs } from '../../core/brand';
import type { JobSpec } from '../../core/job';
import { clockNote } from '../../core/schedule/clock-changes';
import { showTime } from '../../core/show-time';
import { type JobChange, type JobSide, compareJobs } from '../../operator/plan/compare';
import { type Plan, planOf, excludedIn, type PlanSpan } from '../../operator/plan/plan';
import { UsageError } from '../cli-error';
import { type FileOptions, jobsWithTag, loadFile, printWarnings } from '../jobs-file';
import { OK, print, printJson, warn } from '../output';
import { type TimeOptions, timeHere, timesOf, utc } from '../time';
import { type JobsAtRef, jobsAt, warnOfNotice } from './at-ref';
import { changesText, excludedText, leftOut, planText } from './plan-text';

/** Octets of a line of iCalendar, without its end: https://www.rfc-editor.org/rfc/rfc5545#section-3.1 */
const LINE_OCTETS = 75;

const DAY_MS = 86_400_000;
/** The reach of a look-up for due times. */
const LONGEST_MS = 5 * 365 * DAY_MS;

export interface PlanOptions extends FileOptions, TimeOptions {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly tag?: string | undefined;
  readonly limit: number;
  readonly against?: string | undefined;
  readonly excluded?: boolean | undefined;
  readonly ics?: boolean | undefined;
  readonly json?: boolean | undefined;
}

/** `cronlease plan`: what would run when; with `--against` what a deployment of the file changes. */
export function plan(options: PlanOptions): number {
  const { against, to, ics, json } = options;
  const other = to !== undefined ? '--to' : ics ? '--ics' : options.excluded ? '--excluded' : undefined;
  if (against !== undefined && other !== undefined) {
    throw new UsageError(`--against compares two files: leave out ${other}`);
  }
  const instant = (text: string, option: string): EpochMs => timeHere(text, option, options, 'ahead');
  const from = options.from === undefined ? Math.floor(Date.now() / 1000) * 1000 : instant(options.from, '--from');
  const until = to === undefined ? from + DAY_MS : instant(to, '--to');
  if (until <= from) throw new UsageError('--to must be later than --from');
  if (until > from + LONGEST_MS) throw new UsageError('--to must be within 5 years of --from: due times end there');
  const loaded = loadFile(options, { clockChanges: true });
  if (against !== undefined) return compare(jobsAt(against, options), { loaded, at: from, options });
  printWarnings(loaded);
  const specs = options.tag === undefined ? loaded.jobsFile.jobs : jobsWithTag(loaded, options.tag, options);
  if (options.excluded) return listExcluded(specs, { from, to: until, limit: options.limit }, options);
  const planned = planOf(specs, { from, to: until, limit: options.limit });
  const show = timesOf(options);
  if (ics) process.stdout.write(calendarText(planned, Date.now()));
  else if (json) printJson(planned.starts.map(documentOf));
  else print(planText(planned, { from, to: until, specs }, show).join('\n'));
  if (ics || json) warnOfRest(planned, until);
  return OK;
}

/** `cronlease plan --excluded`: the times that `between`, `except` and calendars take out of the schedules. */
function listExcluded(specs: readonly JobSpec[], span: PlanSpan, options: PlanOptions): number {
  const excluded = excludedIn(specs, span);
  if (options.json) {
    printJson(
      excluded.starts.map(({ spec, scheduledFor, runsAt, by }) => ({
        job: spec.name,
        scheduledFor: new Date(scheduledFor).toISOString(),
        runsAt: new Date(runsAt).toISOString(),
        local: showTime(runsAt, spec.timeZone),
        ...by,
      })),
    );
  } else print(excludedText(excluded, span, timesOf(options)).join('\n'));
  const rest = excluded.counted - excluded.starts.length;
  if (rest > 0) warn(`${rest} later times are left out: see --to and --limit`);
  if (excluded.countedTo < span.to) warn(`nothing from ${utc(excluded.countedTo)} on was looked at: see --to`);
  return OK;
}

/** What a program, or a calendar, does not see in the document. */
function warnOfRest(planned: Plan, to: EpochMs): void {
  for (const line of leftOut(planned, to, timesOf({}))) warn(line);
  for (const { spec, change } of planned.touched) {
    if (change.effect === 'dropped') warn(`${spec.name} on ${change.wall.slice(0, 10)}: ${clockNote(change)}`);
  }
}

function documentOf({ spec, scheduledFor, runsAt, notes }: Plan['starts'][number]): object {
  return {
    job: spec.name,
    scheduledFor: new Date(scheduledFor).toISOString(),
    runsAt: new Date(runsAt).toISOString(),
    local: showTime(runsAt, spec.timeZone),
    notes,
  };
}

interface Comparison {
  readonly loaded: ReturnType<typeof loadFile>;
  readonly at: EpochMs;
  readonly options: PlanOptions;
}

function compare(old: JobsAtRef, { loaded, at, options }: Comparison): number {
  const changes = compareJobs(old, loaded.jobsFile, at);
  const shown = changes.slice(0, options.limit);
  const rest = changes.length - shown.length;
  if (options.json) {
    return printJson({
      against: options.against,
      ...(old.notice !== undefined && { notice: old.notice }),
      changes: shown.map(changeDocument),
      leftOut: rest,
    });
  }
  warnOfNotice(old);
  print(changesText(changes, shown, options.against ?? '', timesOf(options)).join('\n'));
  return OK;
}

function changeDocument({ job, change, settings, before, after, clocks, deploy }: JobChange): object {
  return {
    job,
    change,
    settings,
    before: sideDocument(before),
    after: sideDocument(after),
    clockChanges: clocks.map((clock) => ({
      at: new Date(clock.at).toISOString(),
      wall: clock.wall,
      note: clockNote(clock),
    })),
    deploy,
  };
}

function sideDocument(side: JobSide | undefined): object | null {
  if (side === undefined) return null;
  const { schedule, timeZone, enabled }: JobSpec = side.spec;
  return { schedule, timeZone, enabled, dueTimes: side.dueTimes.map((due) => new Date(due).toISOString()) };
}

/** The starts as an iCalendar file, in UTC, each an event without a length. */
export function calendarText({ starts }: Plan, now: EpochMs): string {
  const stamp = basic(now);
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//cronlease//plan//EN',
    ...starts.flatMap(({ spec, scheduledFor, runsAt, notes }) => [
      'BEGIN:VEVENT',
      `UID:${spec.name}-${basic(scheduledFor)}@cronlease`,
      `DTSTAMP:${stamp}`,
      `DTSTART:${basic(runsAt)}`,
      `SUMMARY:${escaped(spec.name)}`,
      `DESCRIPTION:${escaped([`${spec.schedule} ${spec.timeZone}`, spec.description ?? '', ...notes].filter((part) => part !== '').join('\n'))}`,
      'TRANSP:TRANSPARENT',
      'END:VEVENT',
    ]),
    'END:VCALENDAR',
  ];
  return lines.map((line) => `${folded(line)}\r\n`).join('');
}

/** `20260131T030000Z` */
function basic(instant: EpochMs): string {
  return new Date(instant).toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

function escaped(text: string): string {
  const visible = text.replaceAll(/[\\;,]/g, (char) => `\\${char}`).replaceAll(/\r?\n|\r/g, '\\n');
  // A control character has no place in a calendar.
  return visible.replaceAll(/\p{Cc}/gu, ' ');
}

/** Continues a long line on the next ones, which begin with a space. No character is cut in two. */
function folded(line: string): string {
  const parts: string[] = [];
  let part = '';
  let octets = 0;
  for (const char of line) {
    const size = Buffer.byteLength(char);
    if (octets + size > LINE_OCTETS) {
      parts.push(part);
      part = ' ';
      octets = 1;
    }
    part += char;
    octets += size;
  }
  return [...parts, part].join('\r\n');
}
