import type { LoadedJobs } from '../../config/load';
import { ALL_JOBS } from '../../config/readers';
import type { EpochMs } from '../../core/brand';
import { formatDuration } from '../../core/duration';
import { actualTime, type JobSpec } from '../../core/job';
import { waitsFor } from '../../core/requires';
import { isUtc } from '../../core/show-time';
import type { JobSide } from '../../operator/plan/compare';
import { dueTimesAfter } from '../../operator/plan/plan';
import { UsageError } from '../cli-error';
import { type FileOptions, jobIn, jobsWithTag, loadFile, printWarnings } from '../jobs-file';
import { OK, print, printJson, style } from '../output';
import { noDueTimes, parseTime, type ShowTime, timeIn, type TimeOptions, timesOf, wallClock } from '../time';

export interface NextOptions extends FileOptions, TimeOptions {
  readonly tag?: string | undefined;
  readonly from?: string | undefined;
  readonly count: number;
  readonly json?: boolean | undefined;
}

export function next(job: string | undefined, options: NextOptions): number {
  if (job !== undefined && options.tag !== undefined)
    throw new UsageError('JOB and --tag both name jobs: leave one out');
  const from = options.from === undefined ? undefined : parseTime(options.from, '--from', 'ahead');
  const loaded = loadFile(options);
  const specs = specsOf(loaded, job, options);
  printWarnings(loaded, specs.length === 1 ? specs[0]?.name : undefined);
  const now = Date.now();
  const upcoming = specs.map((spec): JobSide => {
    const after = from === undefined ? now : timeIn(from, spec.timeZone);
    return { spec, dueTimes: dueTimesAfter(spec, after, options.count) };
  });
  if (options.json) {
    printJson(
      upcoming.map(({ spec, dueTimes }) => ({
        job: spec.name,
        timeZone: spec.timeZone,
        dueTimes: dueTimes.map((due) => new Date(due).toISOString()),
      })),
    );
  } else {
    const show = timesOf(options);
    print(upcoming.map((one) => paragraph(one, show)).join('\n\n'));
  }
  return OK;
}

function specsOf(loaded: LoadedJobs, job: string | undefined, options: NextOptions): readonly JobSpec[] {
  if (options.tag !== undefined) return jobsWithTag(loaded, options.tag, options);
  return job === undefined || job === ALL_JOBS ? loaded.jobsFile.jobs : [jobIn(loaded, job, options)];
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
  const { timeZone, offsetMs } = spec;
  const zone = isUtc(timeZone) ? '' : `  ${wallClock(due, timeZone)}`;
  return show(due) + zone + (offsetMs === 0 ? '' : `  starts ${show(actualTime(spec, due))}`);
}
