import type { EpochMs } from '../core/brand';
import { formatDuration } from '../core/duration';
import type { JobSpec } from '../core/job';
import { actualTime } from '../core/job';
import type { FileOptions } from './jobs-file';
import { jobIn, loadFile, printWarnings } from './jobs-file';
import { OK, print, printJson, style } from './output';
import { isUtc, local, parseTime, timeIn, utc } from './time';

export interface NextOptions extends FileOptions {
  readonly from?: string | undefined;
  readonly count: number;
  readonly json?: boolean | undefined;
}

interface Upcoming {
  readonly spec: JobSpec;
  readonly occurrences: readonly EpochMs[];
}

/** `cronlease next`: due times strictly after an instant. */
export function next(job: string, options: NextOptions): number {
  const from = options.from === undefined ? undefined : parseTime(options.from, '--from');
  const loaded = loadFile(options);
  const specs = job === 'all' ? loaded.jobsFile.jobs : [jobIn(loaded, job, options)];
  printWarnings(loaded, job === 'all' ? undefined : job);
  const now = Date.now();
  const upcoming = specs.map((spec): Upcoming => {
    const after = from === undefined ? now : timeIn(from, spec.timeZone);
    return { spec, occurrences: occurrencesOf(spec, after, options.count) };
  });
  if (options.json) {
    printJson(
      upcoming.map(({ spec, occurrences }) => ({
        job: spec.name,
        timeZone: spec.timeZone,
        occurrences: occurrences.map((occurrence) => new Date(occurrence).toISOString()),
      })),
    );
  } else {
    print(upcoming.map(paragraph).join('\n\n'));
  }
  return OK;
}

function occurrencesOf({ timetable }: JobSpec, after: EpochMs, count: number): readonly EpochMs[] {
  const occurrences: EpochMs[] = [];
  let due = timetable.next(after);
  while (due !== undefined && occurrences.length < count) {
    occurrences.push(due);
    due = timetable.next(due);
  }
  return occurrences;
}

function paragraph({ spec, occurrences }: Upcoming): string {
  const notes = [
    ...(spec.enabled ? [] : ['disabled in the file: none of these will run']),
    ...(spec.offsetMs === 0 ? [] : [`each starts ${formatDuration(spec.offsetMs)} later, by "spread"`]),
  ];
  const title = `${style('bold', spec.name)}  ${spec.schedule}  ${spec.timeZone}`;
  const head = notes.length === 0 ? title : `${title}  (${notes.join('; ')})`;
  if (occurrences.length === 0) return `${head}\n  ${nothing(spec)}`;
  return [head, ...occurrences.map((occurrence) => `  ${row(spec, occurrence)}`)].join('\n');
}

function row(spec: JobSpec, occurrence: EpochMs): string {
  const { timeZone, offsetMs } = spec;
  const zone = isUtc(timeZone) ? '' : `  ${weekday(occurrence, timeZone)} ${local(occurrence, timeZone)}`;
  return utc(occurrence) + zone + (offsetMs === 0 ? '' : `  starts ${utc(actualTime(spec, occurrence))}`);
}

function weekday(instant: EpochMs, timeZone: string): string {
  return new Intl.DateTimeFormat('en-US', { weekday: 'short', timeZone }).format(instant);
}

function nothing({ kind }: JobSpec): string {
  switch (kind) {
    case 'always':
      return 'no due times: a leader job runs all the time';
    case 'manual':
      return 'no due times: it runs on request only';
    case 'timed':
      return 'never due within the 5 years that are looked at';
  }
}
