import type { EpochMs } from '../../core/brand';
import { actualTime, type JobSpec } from '../../core/job';
import { clockNote } from '../../core/schedule/clock-changes';
import { isUtc } from '../../core/show-time';
import { oneLine } from '../../core/text';
import type { JobChange, JobSide } from '../../operator/plan/compare';
import type { Plan, excludedIn } from '../../operator/plan/plan';
import { columnsOver, fittedTable, folded } from '../fit';
import { style } from '../output';
import { noDueTimes, type ShowTime, wallClock } from '../time';

const WIDTH = 80;
const MOST_CLOCKS = 20;

interface Shown {
  readonly from: EpochMs;
  readonly to: EpochMs;
  readonly specs: readonly JobSpec[];
}

/** The starts, the fullest minutes, and the changes of clocks, in at most 80 columns. */
export function planText(plan: Plan, { from, to, specs }: Shown, show: ShowTime): readonly string[] {
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
  const column = columnsOver(starts, 'middle');
  return fittedTable(
    [
      column('STARTS', ({ runsAt }) => show(runsAt)),
      column('JOB', ({ spec }) => spec.name),
      column('BY ITS CLOCKS', ({ spec, runsAt }) => (isUtc(spec.timeZone) ? '' : wallClock(runsAt, spec.timeZone))),
      column('DUE', ({ scheduledFor, runsAt }) => (scheduledFor === runsAt ? '' : show(scheduledFor))),
      column('AFTER', ({ spec }) => spec.requires.join(', ')),
    ],
    [
      ['AFTER', 12],
      ['JOB', 20],
      ['DUE', 0],
      ['BY ITS CLOCKS', 0],
      ['AFTER', 0],
      ['JOB', 10],
    ],
    WIDTH,
  );
}

/** The excluded times with their reasons, in at most 80 columns. */
export function excludedText(
  { starts, counted }: ReturnType<typeof excludedIn>,
  { from, to }: Pick<Shown, 'from' | 'to'>,
  show: ShowTime,
): readonly string[] {
  const head = `${show(from)} to ${show(to)}: ${number(counted)} excluded`;
  return [
    style('bold', head),
    ...starts.flatMap(({ spec, runsAt, by: { setting, calendar, entry } }) => {
      const zone = isUtc(spec.timeZone) ? '' : ` (${wallClock(runsAt, spec.timeZone)})`;
      const line = `${show(runsAt)}${zone}  ${style('bold', spec.name)}: ${calendar ?? setting}: ${oneLine(entry)}`;
      return folded(line, 4);
    }),
  ];
}

const MARKS: Readonly<Record<JobChange['change'], string>> = { added: '+', removed: '-', changed: '~' };

/** The changes of a jobs file, in at most 80 columns. */
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
    return `          ${show(at)}${isUtc(spec.timeZone) ? '' : `  ${wallClock(at, spec.timeZone)}`}`;
  });
  return [...folded(head, 10), ...(times.length === 0 ? [`          ${noDueTimes(spec)}`] : times)];
}

function number(count: number): string {
  return count.toLocaleString('en-US');
}
