import { ALL_JOBS } from '../../config/readers';
import type { EpochMs } from '../../core/brand';
import { formatDuration } from '../../core/duration';
import { given } from '../../core/given';
import { isoOf } from '../../core/iso';
import { actualTime, type JobSpec } from '../../core/job';
import { waitsFor } from '../../core/requires';
import { clockNote } from '../../core/schedule/clock-changes';
import { isUtc, showTime } from '../../core/show-time';
import { oneLine } from '../../core/text';
import { compareJobs, type JobChange, type JobSide } from '../../operator/plan/compare';
import { dueTimesAfter, type Plan, planOf, excludedIn, type PlanSpan, type Start } from '../../operator/plan/plan';
import type { Options } from '../commands/command';
import { fittedTable, folded, MIDDLE } from '../fit';
import { jobIn, type JobsAtRef, jobsAt, jobsTagged, loadFile, printWarnings } from '../jobs-file';
import { answer, OK, style, UsageError, warn } from '../output';
import { noDueTimes, ownClock, parseTime, type ShowTime, timeHere, timesOf, utc } from '../time';

/** Octets of a line of iCalendar, without its end: https://www.rfc-editor.org/rfc/rfc5545#section-3.1 */
const LINE_OCTETS = 75;

const DAY_MS = 86_400_000;
/** The reach of a look-up for due times. */
const LONGEST_MS = 5 * 365 * DAY_MS;

interface PlanOptions extends Options {
  readonly from?: string;
  readonly to?: string;
  readonly limit: number;
  readonly against?: string;
  readonly excluded?: boolean;
  readonly ics?: boolean;
}

/** `cronlease plan`: what would run when; with `--against` what a deployment of the file changes. */
export function plan(options: PlanOptions): number {
  const { against, limit, ics } = options;
  const other = options.to !== undefined ? '--to' : ics ? '--ics' : options.excluded ? '--excluded' : undefined;
  if (against !== undefined && other !== undefined) {
    throw new UsageError(`--against compares two files: leave out ${other}`);
  }
  const instant = (text: string, option: string): EpochMs => timeHere(text, option, options, 'ahead');
  const from = options.from === undefined ? Math.floor(Date.now() / 1000) * 1000 : instant(options.from, '--from');
  const to = options.to === undefined ? from + DAY_MS : instant(options.to, '--to');
  if (to <= from) throw new UsageError('--to must be later than --from');
  if (to > from + LONGEST_MS) throw new UsageError('--to must be within 5 years of --from: due times end there');
  const loaded = loadFile(options, { clockChanges: true });
  const show = timesOf(options);
  if (against !== undefined) {
    const old = jobsAt(against, options);
    return tellChanges(old, compareJobs(old, loaded.jobsFile, from), { ...options, against }, show);
  }
  printWarnings(loaded);
  const specs = jobsTagged(options, loaded) ?? loaded.jobsFile.jobs;
  if (options.excluded) return listExcluded(specs, { from, to, limit }, options, show);
  const planned = planOf(specs, { from, to, limit });
  if (ics) process.stdout.write(calendarText(planned, Date.now()));
  else {
    const document = planned.starts.map(({ notes, ...start }) => ({ ...startShape(start), notes }));
    answer(options, document, () => planText(planned, { from, to, specs }, show).join('\n'));
  }
  if (ics || options.json) warnOfRest(planned, to);
  return OK;
}

/** `cronlease plan --excluded`: the times that `between`, `except` and calendars take out of the schedules. */
function listExcluded(specs: readonly JobSpec[], span: PlanSpan, options: PlanOptions, show: ShowTime): number {
  const excluded = excludedIn(specs, span);
  const { starts, counted, countedTo } = excluded;
  const document = starts.map(({ by, ...start }) => ({ ...startShape(start), ...by }));
  answer(options, document, () => excludedText(excluded, span, show).join('\n'));
  if (counted > starts.length) warn(`${counted - starts.length} later times are left out: see --to and --limit`);
  if (countedTo < span.to) warn(`nothing from ${utc(countedTo)} on was looked at: see --to`);
  return OK;
}

/** What a program, or a calendar, does not see in the document. */
function warnOfRest(planned: Plan, to: EpochMs): void {
  for (const line of leftOut(planned, to, timesOf({}))) warn(line);
  for (const { spec, change } of planned.touched) {
    if (change.effect === 'dropped') warn(`${spec.name} on ${change.wall.slice(0, 10)}: ${clockNote(change)}`);
  }
}

function startShape({ spec, scheduledFor, runsAt }: Start): object {
  return {
    job: spec.name,
    scheduledFor: isoOf(scheduledFor),
    runsAt: isoOf(runsAt),
    local: showTime(runsAt, spec.timeZone),
  };
}

function tellChanges(
  { notice }: JobsAtRef,
  changes: readonly JobChange[],
  options: PlanOptions & { readonly against: string },
  show: ShowTime,
): number {
  const { against, limit } = options;
  const shown = changes.slice(0, limit);
  const leftOut = changes.length - shown.length;
  if (notice !== undefined && options.json !== true) warn(notice);
  const document = { against, ...given({ notice }), changes: shown.map(changeDocument), leftOut };
  return answer(options, document, () => changesText(changes, shown, against, show).join('\n'));
}

function changeDocument({ job, change, settings, before, after, clocks, deploy }: JobChange): object {
  return {
    job,
    change,
    settings,
    before: sideDocument(before),
    after: sideDocument(after),
    clockChanges: clocks.map((clock) => ({ at: isoOf(clock.at), wall: clock.wall, note: clockNote(clock) })),
    deploy,
  };
}

function sideDocument(side: JobSide | undefined): object | null {
  if (side === undefined) return null;
  const { schedule, timeZone, enabled } = side.spec;
  return { schedule, timeZone, enabled, dueTimes: side.dueTimes.map(isoOf) };
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
  return lines.map((line) => `${contentLine(line)}\r\n`).join('');
}

/** `20260131T030000Z` */
function basic(instant: EpochMs): string {
  return isoOf(instant).replaceAll(/[-:]|\.\d+/g, '');
}

function escaped(text: string): string {
  const visible = text.replaceAll(/[\\;,]/g, (char) => `\\${char}`).replaceAll(/\r?\n|\r/g, '\\n');
  // A control character has no place in a calendar.
  return visible.replaceAll(/\p{Cc}/gu, ' ');
}

/** Continues a long line on the next ones, which begin with a space. No character is cut in two. */
function contentLine(line: string): string {
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

const MOST_CLOCKS = 20;

type Span = Pick<PlanSpan, 'from' | 'to'>;

/** The starts, the fullest minutes, and the changes of clocks, in at most 80 columns. */
export function planText(
  plan: Plan,
  { from, to, specs }: Span & { readonly specs: readonly JobSpec[] },
  show: ShowTime,
): readonly string[] {
  const { starts, counted, busiest, touched, countedTo } = plan;
  const many = `${number(counted)} ${counted === 1 ? 'start' : 'starts'}${countedTo < to ? ' and more' : ''}`;
  const left = leftOut(plan, to, show);
  const clocks = touched.slice(0, MOST_CLOCKS);
  return [
    style('bold', `${show(from)} to ${show(to)}: ${many}`),
    ...without(specs),
    ...(starts.length === 0 ? [] : ['', ...startTable(starts, show)]),
    ...left.flatMap((line) => folded(line)),
    ...(busiest.length === 0 ? [] : ['', style('bold', 'Fullest minutes')]),
    ...busiest.flatMap((pileUp) => folded(pileUpText(pileUp, show))),
    ...(clocks.length === 0 ? [] : ['', style('bold', 'Changes of clocks')]),
    ...clocks.flatMap(({ spec, change }) => folded(`${change.wall.slice(0, 10)}  ${spec.name}: ${clockNote(change)}`)),
    ...(touched.length > clocks.length ? [`and ${number(touched.length - clocks.length)} more`] : []),
  ];
}

function pileUpText({ minute, jobs, groups }: Plan['busiest'][number], show: ShowTime): string {
  const parts = groups.map(
    ({ name, jobs: count, maxParallel }) => `${number(count)} of group "${name}", which run ${maxParallel} at a time`,
  );
  return [`${show(minute)}  ${number(jobs)} jobs start`, ...parts].join('; ');
}

/** What the list does not hold, as sentences. */
export function leftOut({ starts, counted, countedTo }: Plan, to: EpochMs, show: ShowTime): readonly string[] {
  const lines: string[] = [];
  const last = starts.at(-1);
  if (counted > starts.length && last !== undefined) {
    const rest = number(counted - starts.length);
    lines.push(`The list ends at ${show(last.runsAt)}; ${rest} later starts are left out: see --to and --limit.`);
  }
  if (countedTo < to) lines.push(`Nothing from ${show(countedTo)} on was counted: see --to.`);
  return lines;
}

/** A sentence about the jobs that have no place in a plan. */
function without(specs: readonly JobSpec[]): readonly string[] {
  const count = (word: string, matches: (spec: JobSpec) => boolean): readonly string[] => {
    const found = specs.filter(matches).length;
    return found === 0 ? [] : [`${number(found)} ${word}`];
  };
  const parts = [
    ...count('disabled', ({ enabled }) => !enabled),
    ...count('always running', ({ enabled, kind }) => enabled && kind === 'always'),
    ...count('on request only', ({ enabled, kind }) => enabled && kind === 'manual'),
  ];
  return parts.length === 0 ? [] : [`Not planned: ${parts.join(', ')}`];
}

function startTable(starts: Plan['starts'], show: ShowTime): readonly string[] {
  return fittedTable(
    starts,
    [
      ['STARTS', ({ runsAt }) => show(runsAt)],
      ['JOB', ({ spec }) => spec.name, MIDDLE],
      ['BY ITS CLOCKS', ({ spec, runsAt }) => ownClock(runsAt, spec)],
      ['DUE', ({ scheduledFor, runsAt }) => (scheduledFor === runsAt ? '' : show(scheduledFor))],
      ['AFTER', ({ spec }) => spec.requires.join(', '), MIDDLE],
    ],
    [
      ['AFTER', 12],
      ['JOB', 20],
      ['DUE', 0],
      ['BY ITS CLOCKS', 0],
      ['AFTER', 0],
      ['JOB', 10],
    ],
  );
}

/** The excluded times with their reasons, in at most 80 columns. */
export function excludedText(
  { starts, counted }: ReturnType<typeof excludedIn>,
  { from, to }: Span,
  show: ShowTime,
): readonly string[] {
  return [
    style('bold', `${show(from)} to ${show(to)}: ${number(counted)} excluded`),
    ...starts.flatMap(({ spec, runsAt, by: { setting, calendar, entry } }) => {
      const clock = ownClock(runsAt, spec);
      const line = `${show(runsAt)}${clock && ` (${clock})`}  ${style('bold', spec.name)}: ${calendar ?? setting}: ${oneLine(entry)}`;
      return folded(line, 4);
    }),
  ];
}

const MARKS: Readonly<Record<JobChange['change'], string>> = { added: '+', removed: '-', changed: '~' };

export function changesText(
  all: readonly JobChange[],
  shown: readonly JobChange[],
  ref: string,
  show: ShowTime,
): readonly string[] {
  if (all.length === 0) return [`No job is added, changed or removed since ${ref}.`];
  const count = (kind: JobChange['change']): string =>
    `${number(all.filter(({ change }) => change === kind).length)} ${kind}`;
  return [
    style('bold', `Since ${ref}: ${count('added')}, ${count('changed')}, ${count('removed')}`),
    ...shown.flatMap((change) => ['', ...changeText(change, show)]),
    ...(all.length > shown.length ? ['', `and ${number(all.length - shown.length)} more: see --limit`] : []),
  ];
}

function changeText(
  { job, change, settings, before, after, clocks, deploy }: JobChange,
  show: ShowTime,
): readonly string[] {
  const what = settings.length === 0 ? change : `${change}: ${settings.join(', ')}`;
  const sides = [...sideText('before', before, show), ...sideText('after', after, show)];
  return [
    ...folded(`${MARKS[change]} ${style('bold', job)}  ${what}`),
    ...sides,
    ...clocks.flatMap((clock) => folded(`  clocks  ${clock.wall.slice(0, 10)} ${clockNote(clock)}`, 10)),
    ...folded(`  deploy  ${deploy}`, 10),
  ];
}

function sideText(name: string, side: JobSide | undefined, show: ShowTime): readonly string[] {
  if (side === undefined) return [];
  const { spec, dueTimes } = side;
  const zone = isUtc(spec.timeZone) ? '' : ` ${spec.timeZone}`;
  const off = spec.enabled ? '' : ' (disabled)';
  const head = `  ${name.padEnd(6)}  ${spec.schedule}${zone}${off}`;
  const times = dueTimes.map((due) => {
    const at = actualTime(spec, due);
    return `          ${show(at)}  ${ownClock(at, spec)}`.trimEnd();
  });
  return [...folded(head, 10), ...(times.length === 0 ? [`          ${noDueTimes(spec)}`] : times)];
}

function number(count: number): string {
  return count.toLocaleString('en-US');
}

interface NextOptions extends Options {
  readonly from?: string;
  readonly count: number;
}

/** `cronlease next`: the next due times of a job, or of several. */
export function next(job: string | undefined, options: NextOptions): number {
  if (job !== undefined && options.tag !== undefined)
    throw new UsageError('JOB and --tag both name jobs: leave one out');
  const from = options.from === undefined ? undefined : parseTime(options.from, '--from', 'ahead');
  const loaded = loadFile(options);
  const named = job === undefined || job === ALL_JOBS ? loaded.jobsFile.jobs : [jobIn(loaded, job, options)];
  const specs = jobsTagged(options, loaded) ?? named;
  printWarnings(loaded, specs.length === 1 ? specs[0]?.name : undefined);
  const now = Date.now();
  const upcoming = specs.map((spec): JobSide => {
    const after = from?.(spec.timeZone) ?? now;
    return { spec, dueTimes: dueTimesAfter(spec, after, options.count) };
  });
  const document = upcoming.map(({ spec, dueTimes }) => ({
    job: spec.name,
    timeZone: spec.timeZone,
    dueTimes: dueTimes.map(isoOf),
  }));
  const show = timesOf(options);
  return answer(options, document, () => upcoming.map((one) => paragraph(one, show)).join('\n\n'));
}

function paragraph({ spec, dueTimes }: JobSide, show: ShowTime): string {
  const words = waitsFor(spec);
  const notes = [
    ...(spec.tags.length === 0 ? [] : [`tags ${spec.tags.join(', ')}`]),
    ...(spec.enabled ? [] : ['disabled in the file: none of these will run']),
    ...(words === undefined ? [] : [`each ${words}`]),
    ...(spec.offsetMs === 0 ? [] : [`each starts ${formatDuration(spec.offsetMs)} later, by "spread"`]),
  ];
  const title = `${style('bold', spec.name)}  ${spec.schedule}  ${spec.timeZone}`;
  const head = notes.length === 0 ? title : `${title}  (${notes.join('; ')})`;
  if (dueTimes.length === 0) return `${head}\n  ${noDueTimes(spec)}`;
  return [head, ...dueTimes.map((due) => `  ${row(spec, due, show)}`)].join('\n');
}

/** The due time, also by a clock in the job's zone. */
function row(spec: JobSpec, due: EpochMs, show: ShowTime): string {
  const starts = spec.offsetMs === 0 ? '' : `starts ${show(actualTime(spec, due))}`;
  return [show(due), ownClock(due, spec), starts].filter((part) => part !== '').join('  ');
}
