import type { JobName } from '../../core/brand';
import { currentPause } from '../../core/control';
import { inParallel } from '../../core/in-parallel';
import { ForeignMetadataError } from '../../core/metadata';
import { oneLine } from '../../core/text';
import type { Listing } from '../../lease/store';
import { stateIn } from '../../operator/job-state';
import { unknownAnywhere } from '../../operator/subject';
import { jobsIn } from '../../operator/views/list-jobs';
import { type ShownRecord, withAtWork, recordsOf, errorLine } from '../../operator/views/runs';
import { pagedJob, pageOfRuns, type PageStart, type StartFilter } from '../../operator/views/run-pages';
import { type Concession, fitText, fittedTable, MIDDLE } from '../fit';
import type { Options } from '../commands/command';
import { atHand, jobsTagged, loadFileIfAny } from '../jobs-file';
import { OK, OUTCOME_COLOURS, print, printJson, UsageError, warn } from '../output';
import { openStore } from '../storage';
import { type ShowTime, timeAbout, timesOf } from '../time';
import { askedBy, attemptsMade, deployment, lateness, recordInput, stretch, took } from './record-text';

interface RunsOptions extends Options, StartFilter {
  readonly limit: number;
  readonly failed?: boolean;
  readonly outcome?: readonly string[];
  readonly since?: string;
  readonly cursor?: string;
}

export async function runs(job: string | undefined, options: RunsOptions): Promise<number> {
  const start = options.cursor === undefined ? undefined : readCursor(options.cursor);
  const time = (text: string | undefined, option: string) =>
    text === undefined ? undefined : timeAbout(job, text, option, options);
  const [since, until] = [time(options.since, '--since'), time(options.until, '--until')];
  const file = loadFileIfAny(options);
  const specs = file?.jobsFile.jobs ?? [];
  const tagged = jobsTagged(options);
  if (job !== undefined && tagged !== undefined) throw new UsageError('JOB and --tag both name jobs: leave one out');
  const store = openStore(options);
  const listing = await store.list(job === undefined ? {} : { job: job as JobName });
  const entries = jobsIn(listing, specs).jobs.filter(({ name }) =>
    job === undefined ? listing.jobs.has(name) && (tagged?.some((spec) => spec.name === name) ?? true) : name === job,
  );
  // Its records may outlive its row.
  const paged =
    entries.length > 0 || job === undefined
      ? entries.map(pagedJob)
      : [{ name: job as JobName, spec: undefined, row: undefined, current: undefined, isUnreadable: false }];
  const zone = entries.length === 1 ? entries[0]?.spec?.timeZone : undefined;
  const filter = { ...options, outcomes: options.outcome, since: since?.(zone), until: until?.(zone) };
  const page = await pageOfRuns(store, paged, filter, { limit: options.limit, start });
  const { records, problems } = await recordsOf(store, page.runs, listing);
  for (const problem of problems) warn(problem);
  if (
    job !== undefined &&
    records.length === 0 &&
    !(listing.jobs.has(job as JobName) || specs.some(({ name }) => name === job))
  ) {
    const all = await store.list();
    throw unknownAnywhere(job, atHand(file, options), { location: store.location, jobs: all.jobs.keys() });
  }
  const cursor = page.next === undefined ? null : `${page.next.job}/${page.next.key}`;
  if (options.json) {
    const keys = new Map(page.runs.map(({ runId, key }) => [runId, key]));
    const withInputs = await inParallel(records, async (listed) => {
      const key = keys.get(listed.runId);
      const record = key === undefined ? listed : await withAtWork(store, listed, key);
      const input = await recordInput(
        store,
        record,
        specs.find(({ name }) => name === record.job),
      );
      return input === undefined ? record : { ...record, input };
    });
    return printJson({ runs: withInputs, cursor });
  }
  const show = timesOf(options);
  if (job !== undefined) printPause(job as JobName, listing, show);
  if (records.length > 0) print(runsTable(records, show, process.stdout.isTTY ? process.stdout.columns : Infinity));
  else print(nothing(job, cursor, options));
  if (cursor !== null) print(`\nFor older ones, add: --cursor ${cursor}`);
  return OK;
}

function nothing(job: string | undefined, cursor: string | null, options: RunsOptions): string {
  if (cursor !== null) return 'No such run among those that were searched.';
  const { failed, outcome, since, until, tag, trigger, actor, channel, note } = options;
  const filters = [failed, outcome, since, until, options.cursor, tag, trigger, actor, channel, note];
  if (filters.some((filter) => filter !== undefined)) return 'No such run.';
  return job === undefined ? 'Nothing has run yet.' : `Job "${job}" has not run yet.`;
}

function readCursor(text: string): PageStart {
  const [, job = '', key = ''] = /^([a-z0-9-]{1,63})\/(\d{13}-(?:s|m-[0-9a-z]{1,64}))$/.exec(text) ?? [];
  if (key !== '') return { job, key };
  throw new UsageError(`--cursor ${JSON.stringify(text)} is not one that "cronlease runs" has printed: leave it out`);
}

const CONCESSIONS: readonly Concession[] = [
  ['NOTES', 16],
  ['JOB', 24],
  ['LATE', 0],
  ['BY', 12],
  ['JOB', 16],
  ['NOTES', 8],
  ['TOOK', 0],
  ['BY', 0],
  ['NOTES', 0],
  ['JOB', 8],
  ['OUTCOME', 6],
  ['JOB', 1],
];

function runsTable(records: readonly ShownRecord[], show: ShowTime, width: number): string {
  const [heading, ...lines] = fittedTable(
    records,
    [
      ['JOB', ({ job }) => job, MIDDLE],
      ['DUE', ({ scheduledFor }) => show(Date.parse(scheduledFor))],
      ['OUTCOME', ({ outcome }) => ({ text: outcome, format: OUTCOME_COLOURS[outcome] })],
      ['LATE', lateness],
      ['TOOK', took],
      ['BY', deployment],
      ['NOTES', (record) => notes(record, show)],
    ],
    CONCESSIONS,
    width,
  );
  const rows = records.flatMap((record, index) => [lines[index], ...detailLines(record, width)]);
  return [heading, ...rows].join('\n');
}

function detailLines(record: ShownRecord, width: number): readonly string[] {
  const indent = '    ';
  const error = errorLine(record, width - indent.length);
  return [askedBy(record), error].flatMap((text) => (text === undefined ? [] : [fitText(indent + text, width)]));
}

function notes(record: ShownRecord, show: ShowTime): string {
  const { reason, trigger, overlappedRunId } = record;
  const attempts = attemptsMade(record);
  const all = [
    reason !== 'completed' && reason,
    trigger !== 'schedule' && trigger,
    attempts > 1 && `attempt ${attempts}`,
    stretch(record, show),
    overlappedRunId && `during ${overlappedRunId}`,
  ];
  return all.filter(Boolean).join(', ');
}

function printPause(job: JobName, listing: Listing, show: ShowTime): void {
  try {
    const { control, now } = stateIn(listing, job);
    const pause = currentPause(control, now);
    if (pause === undefined) return;
    print(`Paused since ${show(pause.since)} by ${oneLine(pause.by)}: ${oneLine(pause.note)}\n`);
  } catch (error) {
    if (!(error instanceof ForeignMetadataError)) throw error;
    warn(`job "${job}": ${error.message}`);
  }
}
