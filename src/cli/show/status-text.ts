import type { EpochMs } from '../../core/brand';
import { wordOf } from '../../core/guide';
import { shortSpan, showAge, showSpan } from '../../core/show-time';
import { isFailing, needsAttention, SHOWN_STATES, type ShownState, shownState } from '../../core/shown-state';
import { oneLine } from '../../core/text';
import type { DeploymentStatus } from '../../manage/schema/about';
import type { JobStatus, Overview } from '../../manage/schema/jobs';
import { columnsOver, type Concession, fitLine, fittedTable, paint, type Span, wordLines, wrapped } from '../fit';
import type { Style } from '../output';
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

/** These give way first where the line is short. */
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
    ...overview.problems.map((text) => fit([{ text: `warning: ${text}`, format: 'yellow' }], view)),
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
  if (jobs.length === 0) return [[{ text: none, format: 'bold' }]];
  const groups = SHOWN_STATES.flatMap((state): readonly (readonly Span[])[] => {
    const count = jobs.filter((job) => shownState(job) === state).length;
    return count === 0 ? [] : [[{ text: `${count} ${state}`, format: STATE_FORMATS[state] }]];
  });
  return [[{ text: jobs.length === 1 ? '1 job' : `${jobs.length} jobs`, format: 'bold' }], ...groups];
}

function timeGroup({ now, show, note = '' }: StatusView): readonly Span[] {
  return [{ text: `${show(Math.floor(now / 1000) * 1000)}${note}`, format: 'dim' }];
}

/** The whole reason is shown. */
function maintenanceLines(
  { by, note, since, until, jobs }: Overview['maintenance'][number],
  view: StatusView,
): readonly string[] {
  const end = until === null ? '' : ` until ${view.show(Date.parse(until))}`;
  const lines = [
    ...wordLines(oneLine(`Maintenance of ${jobs}, by ${by}: ${note}`), view.width),
    `  since ${view.show(Date.parse(since))}${end}`,
  ];
  return lines.map((text) => fit([{ text, format: 'yellow' }], view));
}

interface JobLines {
  /** The line of the job, and what explains it. */
  readonly lines: readonly string[];
}

function jobLines(jobs: readonly JobStatus[], view: StatusView): readonly JobLines[] {
  const column = columnsOver(jobs);
  const [heading = '', ...lines] = fittedTable(
    [
      column('JOB', ({ name }) => name, { cut: 'middle' }),
      column('STATE', (job) => [{ text: stateText(job, view), format: STATE_FORMATS[shownState(job)] }]),
      column('OUTCOMES', marksOf, { cut: 'newest' }),
      column('LAST RUN', (job) => lastRunCell(job, view), { cut: 'parts' }),
      column('TOOK', ({ lastRun }) => (lastRun === null ? '' : spanText(lastRun.durationMs)), RIGHT),
      column('LATE', ({ lastRun }) => (lastRun === null ? '' : spanText(lastRun.latenessMs)), RIGHT),
      column('NEXT', ({ nextDueAt }) => (nextDueAt === null ? '-' : `in ${showAge(Date.parse(nextDueAt) - view.now)}`)),
      column('TAGS', ({ tags }) => [{ text: tags.join(','), format: 'dim' }]),
    ],
    JOB_CONCESSIONS,
    view.width,
  );
  return [
    { lines: [heading] },
    ...jobs.map((job, index) => {
      const detail = detailOf(job, view);
      const line = lines[index] ?? '';
      return { lines: detail === '' ? [line] : [line, fit([{ text: `  ${detail}`, format: 'dim' }], view)] };
    }),
  ];
}

const RIGHT = { align: 'right' } as const;

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
  return markNames(job).flatMap((name) => {
    const mark = MARKS[name];
    return mark === undefined ? [] : [{ text: mark.sign, format: mark.format }];
  });
}

function markNames({ recent, currentRun }: JobStatus): readonly string[] {
  const names = recent.map(({ outcome }) => {
    const name = outcome ?? 'unknown';
    return name in MARKS ? name : 'unrun';
  });
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
  const row = failures > 1 ? [`${failures} failures in a row`] : [];
  const progress = shownState(job) === state ? [] : [progressText(job, view)];
  switch (state) {
    case 'unreadable':
      return oneLine(detail ?? '');
    case 'overdue':
      return [
        ...(overdueSince === null ? [] : [`overdue for ${span(overdueSince, view)}`]),
        ...(dueSince === null ? [] : [`due for ${span(dueSince, view)} and not claimed`]),
        ...row,
      ].join(', ');
    case 'paused':
      return pause === null ? '' : oneLine(pauseText(pause, view));
    case 'retrying': {
      const retryAt = currentRun?.retryAt ?? null;
      const next = retryAt === null ? [] : [`next attempt in ${showAge(Date.parse(retryAt) - view.now)}`];
      const attempt = currentRun === null ? [] : [`attempt ${currentRun.attempt} is over`];
      return detail === null ? [...attempt, ...next, ...row].join(', ') : [detail, ...row].join(', ');
    }
    case 'waiting':
      return [...progress, ...(job.manualRuns > 0 && detail !== null ? [detail] : []), ...row].join(', ');
    case 'running':
      return currentRun !== null && currentRun.attempt > 1
        ? [
            ...progress,
            `attempt ${currentRun.attempt}`,
            ...(currentRun.holder === null ? [] : [`on ${currentRun.holder}`]),
            ...row,
          ].join(', ')
        : [...progress, ...(detail === null ? [] : [detail]), ...row].join(', ');
    case 'idle':
      return [...(detail !== null ? [detail] : []), ...row].join(', ');
    case 'disabled':
      return '';
  }
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
    return ['', fit([{ text: 'No deployment has reported a tick in the last week.', format: 'red' }], view)];
  }
  const column = columnsOver(deployments);
  const newest = Math.max(...deployments.map(({ revision }) => revision));
  const lines = fittedTable(
    [
      column('DEPLOYMENT', ({ name }) => name, { cut: 'middle' }),
      column('STATE', (one) => [deploymentState(one)]),
      column('TICKED', ({ tickedAt }) => `${showAge(view.now - Date.parse(tickedAt))} ago`),
      column('VERSION', ({ version }) => version),
      column('REVISION', ({ revision }) =>
        revision < newest ? [{ text: `${revision} (old)`, format: 'yellow' }] : String(revision),
      ),
      column('SKEW', ({ skewMs }) =>
        skewMs === 0 ? '-' : [{ text: `${skewMs < 0 ? '-' : '+'}${shortSpan(Math.abs(skewMs))}`, format: 'yellow' }],
      ),
      column('CORDON', ({ cordon }) => (cordon === null ? '' : `${cordon.by}: ${cordon.note}`)),
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
  return hint.length > width ? [] : ['', paint([{ text: hint, format: 'dim' }])];
}

/** As many jobs as there is room for. The worst come first, so that these are shown. */
function shortened(jobs: readonly JobLines[], room: number, view: StatusView): readonly string[] {
  const all = jobs.flatMap(({ lines }) => lines);
  if (all.length <= room) return all;
  const shown: string[] = [];
  let count = 0;
  for (const { lines } of jobs) {
    if (shown.length + lines.length > room - 1) break;
    shown.push(...lines);
    count += 1;
  }
  return [...shown, fit([{ text: `… and ${jobs.length - count} more`, format: 'dim' }], view)];
}

function fit(parts: readonly Span[], { width }: StatusView): string {
  return paint(
    fitLine(
      parts.map(({ text, format }) => ({ text: oneLine(text), format })),
      width,
    ),
  );
}
