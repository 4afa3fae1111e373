import { ALL_JOBS } from '../../config/readers';
import type { EpochMs } from '../../core/brand';
import { formatDuration } from '../../core/duration';
import { isoOf } from '../../core/iso';
import { actualTime, type JobSpec } from '../../core/job';
import { waitsFor } from '../../core/requires';
import type { JobSide } from '../../operator/plan/compare';
import type { Options } from '../commands/command';
import { jobIn, jobsTagged, loadFile, printWarnings } from '../jobs-file';
import { answer, style, UsageError } from '../output';
import { noDueTimes, ownClock, parseTime, type ShowTime, timeIn, timesOf } from '../time';
import { dueTimesAfter } from '../../operator/plan/plan';

interface NextOptions extends Options {
  readonly from?: string;
  readonly count: number;
}

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
    const after = from === undefined ? now : timeIn(from, spec.timeZone);
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
