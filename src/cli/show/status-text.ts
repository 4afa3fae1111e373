import type { EpochMs } from '../../core/brand';
import { wordOf } from '../../core/guide';
import { shortSpan, showAge, showSpan } from '../../core/show-time';
import { isFailing, needsAttention, SHOWN_STATES, type ShownState, shownState } from '../../core/shown-state';
import { counted, oneLine } from '../../core/text';
import type { DeploymentStatus } from '../../manage/schema/about';
import type { JobStatus, Overview } from '../../manage/schema/jobs';
import { type Concession, fitText, fittedTable, folded, MIDDLE, RIGHT, type Span, wrapped } from '../fit';
import { type Style, style } from '../output';
import type { ShowTime } from '../time';

/** How the state of everything is shown. */
export interface StatusView {
  /** The storage service's time. */
  readonly now: EpochMs;
  readonly width: number;
  /** The most lines. Undefined: as many as there are. */
  readonly rows?: number | undefined;
  /** Whether a jobs file was read: without one, nothing is known of schedules and tags. */
  readonly hasFile: boolean;
  readonly show: ShowTime;
  /** For the first line. */
  readonly note?: string | undefined;
  /** The first line where no job is listed. */
  readonly none: string;
}

const STATE_FORMATS: Readonly<Record<ShownState, Style | undefined>> = {
  unreadable: ['red', 'bold'],
  overdue: ['red', 'bold'],
  failing: 'red',
  acknowledged: 'yellow',
  retrying: 'yellow',
  running: 'cyan',
  waiting: 'blue',
  idle: undefined,
  paused: 'yellow',
  disabled: 'dim',
};

interface Mark {
  readonly sign: string;
  readonly format: Style;
  /** Default: its word. */
  readonly meaning?: string;
}

/** Each has its own shape, because colours may be missing. */
const MARKS: Readonly<Record<string, Mark>> = {
  succeeded: { sign: '✓', format: 'green' },
  failed: { sign: '✗', format: 'red' },
  timedOut: { sign: 'T', format: 'red' },
  stalled: { sign: 'S', format: 'red' },
  cancelled: { sign: 'c', format: 'yellow' },
  unknown: { sign: '?', format: 'yellow', meaning: 'ended' },
  expired: { sign: '!', format: 'yellow' },
  overlapped: { sign: 'o', format: 'yellow' },
  unrun: { sign: '·', format: 'dim', meaning: 'did not run' },
  running: { sign: '>', format: 'cyan', meaning: 'runs now' },
};

const JOB_CONCESSIONS: readonly Concession[] = [
  ['TAGS', 8],
  ['TAGS', 0],
  ['OUTCOMES', 10],
  ['LATE', 0],
  ['JOB', 20],
  ['OUTCOMES', 8],
  ['TOOK', 0],
  ['JOB', 16],
  ['OUTCOMES', 0],
  ['LAST RUN', 9],
  ['JOB', 8],
  ['NEXT', 0],
  ['LAST RUN', 0],
];

const DEPLOYMENT_CONCESSIONS: readonly Concession[] = [
  ['CORDON', 24],
  ['DEPLOYMENT', 24],
  ['VERSION', 0],
  ['SKEW', 0],
  ['DEPLOYMENT', 16],
  ['CORDON', 12],
  ['REVISION', 0],
  ['DEPLOYMENT', 8],
  ['CORDON', 0],
  ['TICKED', 0],
];

/** The state of all jobs and deployments, line by line, none wider than the view. */
export function statusLines(overview: Overview, view: StatusView): readonly string[] {
  const head = [
    ...wrapped([...summary(overview, view), timeGroup(view)], view.width),
    ...overview.problems.map((text) => fitText(`warning: ${text}`, view.width, 'yellow')),
    ...overview.maintenance.flatMap((one) => maintenanceLines(one, view)),
    // What follows the jobs begins with an empty line.
    ...(overview.jobs.length === 0 ? [] : ['']),
  ];
  const below = [...deploymentLines(overview, view), ...legendLines(overview, view), ...hintLines(overview, view)];
  const jobs = overview.jobs.length === 0 ? [] : jobLines(overview.jobs, view);
  const room = view.rows === undefined ? Infinity : view.rows - head.length - below.length;
  return [...head, ...shortened(jobs, room, view), ...below].slice(0, view.rows ?? Infinity);
}

/** How many jobs there are of each kind, the worst first. */
function summary({ jobs }: Overview, { none }: StatusView): readonly (readonly Span[])[] {
  const head: Span = { text: jobs.length === 0 ? none : counted(jobs.length, 'job'), format: 'bold' };
  const states = SHOWN_STATES.map((state): Span => {
    const count = jobs.filter((job) => shownState(job) === state).length;
    return { text: count === 0 ? '' : `${count} ${state}`, format: STATE_FORMATS[state] };
  });
  return [head, ...states.filter(({ text }) => text !== '')].map((span) => [span]);
}

function timeGroup({ now, show, note = '' }: StatusView): readonly Span[] {
  return [{ text: `${show(Math.floor(now / 1000) * 1000)}${note}`, format: 'dim' }];
}

/** The whole reason is shown, on as many lines as it needs. */
function maintenanceLines(
  { by, note, since, until, jobs }: Overview['maintenance'][number],
  view: StatusView,
): readonly string[] {
  const end = until === null ? '' : ` until ${view.show(Date.parse(until))}`;
  const lines = [
    ...folded(oneLine(`Maintenance of ${jobs}, by ${by}: ${note}`), 2, view.width),
    `  since ${view.show(Date.parse(since))}${end}`,
  ];
  return lines.map((text) => fitText(text, view.width, 'yellow'));
}

/** The heading, and for each job its line and what explains it. */
function jobLines(jobs: readonly JobStatus[], view: StatusView): readonly (readonly string[])[] {
  const [heading = '', ...lines] = fittedTable(
    jobs,
    [
      ['JOB', ({ name }) => name, MIDDLE],
      ['STATE', (job) => ({ text: stateText(job, view), format: STATE_FORMATS[shownState(job)] })],
      ['OUTCOMES', marksOf, { cut: 'newest' }],
      ['LAST RUN', (job) => lastRunCell(job, view), { cut: 'parts' }],
      ['TOOK', ({ lastRun }) => (lastRun === null ? '' : spanText(lastRun.durationMs)), RIGHT],
      ['LATE', ({ lastRun }) => (lastRun === null ? '' : spanText(lastRun.latenessMs)), RIGHT],
      ['NEXT', ({ nextDueAt }) => (nextDueAt === null ? '-' : `in ${showAge(Date.parse(nextDueAt) - view.now)}`)],
      ['TAGS', ({ tags }) => ({ text: tags.join(','), format: 'dim' })],
    ],
    JOB_CONCESSIONS,
    view.width,
  );
  return [
    [heading],
    ...jobs.map((job, index) => {
      const detail = detailOf(job, view);
      const line = lines[index] ?? '';
      return detail === '' ? [line] : [line, fitText(`  ${detail}`, view.width, 'dim')];
    }),
  ];
}

function spanText(ms: number | null): string {
  return ms === null ? '-' : shortSpan(Math.max(0, ms));
}

function stateText(job: JobStatus, view: StatusView): string {
  const shown = shownState(job);
  return shown === job.state ? progressText(job, view) : shown;
}

/** The state that a job has beside its failures, and for how long. */
function progressText({ state, currentRun, dueSince }: JobStatus, { now }: StatusView): string {
  if (state === 'waiting' && dueSince !== null) return `${state} ${showAge(now - Date.parse(dueSince))}`;
  const startedAt = currentRun?.startedAt ?? null;
  if (state !== 'running' || startedAt === null) return state;
  return `${state} ${showAge(now - Date.parse(startedAt))}`;
}

/** One character for each of the last outcomes, the newest last. */
function marksOf(job: JobStatus): readonly Span[] {
  return markNames(job).map((name) => ({ text: MARKS[name]?.sign ?? '', format: MARKS[name]?.format }));
}

function markNames({ recent, currentRun }: JobStatus): readonly string[] {
  const names = recent.map(({ outcome }) => outcome ?? 'unknown').map((name) => (name in MARKS ? name : 'unrun'));
  return currentRun === null ? names : [...names, 'running'];
}

function lastRunCell({ lastRun }: JobStatus, { now }: StatusView): readonly Span[] {
  if (lastRun === null) return [{ text: '-' }];
  const outcome = lastRun.outcome ?? 'unknown';
  const ago = `${showAge(now - Date.parse(lastRun.scheduledFor))} ago`;
  return [{ text: wordOf(lastRun.outcome ?? 'ended'), format: MARKS[outcome]?.format }, { text: ` ${ago}` }];
}

/** What a person should know of a job that needs one, or that has been stopped or is being looked after. */
function detailOf(job: JobStatus, view: StatusView): string {
  const acknowledgement = job.incident?.acknowledgement ?? null;
  const state = stateDetail(job, view);
  if (acknowledgement === null) return state;
  const { by, note, until } = acknowledgement;
  const end = until === null ? '' : ` until ${view.show(Date.parse(until))}`;
  const text = oneLine(`acknowledged by ${by}${end}${note === '' ? '' : `: ${note}`}`);
  return state === '' ? text : `${text}; ${state}`;
}

function stateDetail(job: JobStatus, view: StatusView): string {
  const { state, pause, overdueSince, dueSince, currentRun, failures } = job;
  // Without a file, its jobs are not known.
  const detail = view.hasFile ? job.detail : (job.detail?.replace(/(?:; )?not in this jobs file$/, '') ?? '') || null;
  const row = failures > 1 && `${failures} failures in a row`;
  const progress = shownState(job) !== state && progressText(job, view);
  switch (state) {
    case 'unreadable':
      return oneLine(detail ?? '');
    case 'overdue':
      return listed([
        overdueSince && `overdue for ${span(overdueSince, view)}`,
        dueSince && `due for ${span(dueSince, view)} and not claimed`,
        row,
      ]);
    case 'paused':
      return pause === null ? '' : oneLine(pauseText(pause, view));
    case 'retrying': {
      if (detail !== null) return listed([detail, row]);
      const { attempt, retryAt = null } = currentRun ?? {};
      const next = retryAt && `next attempt in ${showAge(Date.parse(retryAt) - view.now)}`;
      return listed([attempt !== undefined && `attempt ${attempt} is over`, next, row]);
    }
    case 'waiting':
      return listed([progress, job.manualRuns > 0 && detail, row]);
    case 'running': {
      if (currentRun === null || currentRun.attempt <= 1) return listed([progress, detail, row]);
      const { attempt, holder } = currentRun;
      return listed([progress, `attempt ${attempt}`, holder !== null && `on ${holder}`, row]);
    }
    case 'idle':
      return listed([detail, row]);
    case 'disabled':
      return '';
  }
}

function listed(parts: readonly (string | false | null)[]): string {
  return parts.filter((part) => part !== false && part !== null && part !== '').join(', ');
}

function pauseText({ by, note, since, until }: NonNullable<JobStatus['pause']>, { show }: StatusView): string {
  const end = until === null ? '' : ` until ${show(Date.parse(until))}`;
  return `since ${show(Date.parse(since))}${end}, by ${by}: ${note}`;
}

function span(since: string, { now }: StatusView): string {
  return showSpan(Math.max(0, now - Date.parse(since)));
}

function deploymentLines({ deployments }: Overview, view: StatusView): readonly string[] {
  if (deployments.length === 0) {
    return ['', fitText('No deployment has reported a tick in the last week.', view.width, 'red')];
  }
  const newest = Math.max(...deployments.map(({ revision }) => revision));
  const lines = fittedTable(
    deployments,
    [
      ['DEPLOYMENT', ({ name }) => name, MIDDLE],
      ['STATE', deploymentState],
      ['TICKED', ({ tickedAt }) => `${showAge(view.now - Date.parse(tickedAt))} ago`],
      ['VERSION', ({ version }) => version],
      [
        'REVISION',
        ({ revision }) => (revision < newest ? { text: `${revision} (old)`, format: 'yellow' } : String(revision)),
      ],
      [
        'SKEW',
        ({ skewMs }) =>
          skewMs === 0 ? '-' : { text: `${skewMs < 0 ? '-' : '+'}${shortSpan(Math.abs(skewMs))}`, format: 'yellow' },
      ],
      ['CORDON', ({ cordon }) => (cordon === null ? '' : `${cordon.by}: ${cordon.note}`)],
    ],
    DEPLOYMENT_CONCESSIONS,
    view.width,
  );
  return ['', ...lines];
}

function deploymentState({ state, cordon, hubProven, shortOf }: DeploymentStatus): Span {
  if (state !== 'live') return { text: state, format: state === 'late' ? 'yellow' : 'red' };
  if (cordon !== null) return { text: 'cordoned', format: 'yellow' };
  if (!hubProven) return { text: 'hub unproven', format: 'yellow' };
  if (shortOf !== null) return { text: 'overloaded', format: 'yellow' };
  return { text: 'live', format: 'green' };
}

/** The meaning of the characters that the table has. */
function legendLines({ jobs }: Overview, view: StatusView): readonly string[] {
  const used = new Set(jobs.flatMap(markNames));
  const marks = Object.entries(MARKS).filter(([name]) => used.has(name));
  if (marks.length === 0) return [];
  const groups = marks.map(([name, { sign, format, meaning = wordOf(name) }]): readonly Span[] => [
    { text: sign, format },
    { text: ` ${meaning}`, format: 'dim' },
  ]);
  return ['', ...wrapped(groups, view.width)];
}

/** The command that explains the worst failure, if it fits. */
function hintLines({ jobs }: Overview, { width, show }: StatusView): readonly string[] {
  const worst = jobs.find((job) => needsAttention(job) && job.lastRun !== null && isFailing(job));
  if (worst?.lastRun == null) return [];
  const hint = `Why: cronlease why ${worst.name} ${show(Date.parse(worst.lastRun.scheduledFor))}`;
  return hint.length > width ? [] : ['', style('dim', hint)];
}

/** As many jobs as there is room for. The worst come first, so that these are shown. */
function shortened(jobs: readonly (readonly string[])[], room: number, view: StatusView): readonly string[] {
  const all = jobs.flat();
  if (all.length <= room) return all;
  const tooMany = jobs.findIndex((_, index) => jobs.slice(0, index + 1).flat().length > room - 1);
  const left = `… and ${jobs.length - tooMany} more`;
  return [...jobs.slice(0, tooMany).flat(), fitText(left, view.width, 'dim')];
}
