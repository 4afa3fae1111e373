import { given } from '../core/given';
import * as z from 'zod';
import type { JobName } from '../core/brand';
import { TRIGGERS } from '../core/outcome';
import { parseRecordKey, parseRunId } from '../core/key';
import { tookMs } from '../core/record';
import {
  type ShownRecord,
  showRequestedRun,
  showRun,
  errorLine,
  errorLines,
  type ShownInput,
  inputOfRun,
} from '../operator/views/runs';
import { readLog } from '../operator/views/read-log';
import { type ListedRun, type PageStart, pageOfRuns, pagedJob } from '../operator/views/run-pages';
import { readCursor, writeCursor, wrongCursor } from './cursor';
import { entriesOf, entryOf } from './jobs-routes';
import { RequestError } from './problem';
import { type Route, route } from './route';
import { OneRun, RunLog, type RunSummary, Runs, RunsQuery, runId } from './schema';
import { isoOf, isoOrNull } from '../core/iso';

export const oneRun = z.strictObject({ run: runId });

/** Handlers' lines are written every 2 s at most. */
const LOG_POLL_MS = 2_000;

export const runsRoutes: readonly Route[] = [
  route({
    id: 'listRuns',
    role: 'viewer',
    follow: true,
    summary: 'list runs, and due times that did not run, newest first',
    query: RunsQuery,
    answer: Runs,
    async run(office, { query }) {
      const { now, entries } = await entriesOf(office);
      const { job, tag, outcome, failed, limit = 50, cursor, ...filter } = query;
      const named = job === undefined ? entries : [entryOf(entries, job)];
      const chosen = named.filter(({ spec }) => tag === undefined || spec?.tags.includes(tag));
      const page = await pageOfRuns(
        office.store,
        chosen.map(pagedJob),
        { ...filter, outcomes: outcome && [outcome], failed: failed && true },
        { limit, start: cursor === undefined ? undefined : pageStart(cursor) },
      );
      const errors = await errorLines(office.store, page.runs, office.runErrors);
      const zones = new Map(chosen.map(({ name, spec }) => [name, spec?.timeZone]));
      return {
        now: isoOf(now),
        runs: page.runs.map((run) => ({
          ...showListedRun(run, errors.get(run.runId)),
          timeZone: zones.get(run.job) ?? null,
        })),
        problems: [],
        cursor: page.next === undefined ? null : writeCursor([page.next.key, page.next.job]),
      };
    },
  }),
  route({
    id: 'getRun',
    role: 'viewer',
    follow: true,
    summary: 'show one run with its attempts',
    params: oneRun,
    answer: OneRun,
    async run({ sweeps, store, jobs, redact }, { params, caller }) {
      const { job, key } = runIn(params.run);
      const listing = await sweeps.jobs();
      let record = await showRun(store, job, key, listing);
      if (record === undefined && parseRecordKey(key)?.request !== undefined) {
        const found = await showRequestedRun(store, job, key);
        if (found.isRequested) throw requestedRun(params.run);
        record = found.record;
      }
      if (record === undefined) throw unknownRun(params.run);
      const spec = jobs.find(({ name }) => name === job);
      const input = record.trigger === null ? undefined : await inputOfRun(store, { job, key, spec, redact });
      const shown = showRecord(record, input, caller?.payloads === true);
      return { now: isoOf(listing.date), timeZone: spec?.timeZone ?? null, ...shown };
    },
  }),
  route({
    id: 'getLog',
    role: 'viewer',
    follow: true,
    pollMs: LOG_POLL_MS,
    summary: 'read the log of a run',
    description: 'To follow a run, ask again with `from` until it has ended.',
    params: oneRun,
    query: z.strictObject({
      from: z.string().max(8_000).optional().describe('`next` of the page before. Default: the beginning.'),
      item: z.coerce.number().int().min(0).optional().describe('Only the log of this item of a fan-out.'),
    }),
    answer: RunLog,
    async run({ store }, { params, query }) {
      const { job, key } = runIn(params.run);
      const { progress, ...page } = await readLog(store, job, key, query);
      return { runId: params.run, ...page, progress: progress ?? null };
    },
  }),
];

/** The parts of a run's id. Throws {@link RequestError} if no run can have it. */
export function runIn(id: string): { readonly job: JobName; readonly key: string } {
  const parts = parseRunId(id);
  if (parts === undefined) throw unknownRun(id);
  return { job: parts.job as JobName, key: parts.key };
}

export function unknownRun(id: string): RequestError {
  return new RequestError(404, 'UnknownRun', {
    place: 'path: run',
    value: id,
    problem: 'the ledger has no such run, and none is in progress',
    remedy: 'use an id that GET runs lists; old records are deleted by "keep"',
  });
}

function requestedRun(id: string): RequestError {
  return new RequestError(404, 'RunRequested', {
    place: 'path: run',
    value: id,
    problem: 'the run is requested, and no deployment has claimed it yet',
    remedy: 'ask again in a few seconds',
  });
}

function showListedRun(run: ListedRun, error: string | undefined): Omit<z.input<typeof RunSummary>, 'timeZone'> {
  const { startedAt, endedAt } = run;
  return {
    ...run,
    scheduledFor: isoOf(run.scheduledFor),
    through: isoOrNull(run.through),
    count: run.count ?? null,
    reason: run.reason ?? null,
    token: run.token ?? null,
    trigger: TRIGGERS.find((trigger) => trigger === run.trigger) ?? null,
    startedAt: isoOrNull(startedAt),
    endedAt: isoOrNull(endedAt),
    latenessMs: run.latenessMs ?? null,
    durationMs:
      startedAt === undefined || endedAt === undefined ? null : Math.max(0, endedAt - startedAt - run.waitedMs),
    error: error ?? null,
    origin: run.origin ?? null,
    rerunOf: isoOrNull(run.rerunOf),
  };
}

/** The schema of the answer leaves out what it does not name. What needs the role `payloads` is taken out here. */
function showRecord(
  { result, resultChanges, through, ...record }: ShownRecord,
  input: ShownInput | undefined,
  hasPayloads: boolean,
): Omit<z.input<typeof OneRun>, 'now' | 'timeZone'> {
  return {
    ...record,
    through: through ?? null,
    count: record.count ?? (through === undefined ? 1 : null),
    durationMs: tookMs(record) ?? null,
    waitedMs: record.waitedMs ?? 0,
    error: errorLine(record) ?? null,
    origin: record.origin ?? null,
    rerunOf: record.rerunOf ?? null,
    ...(hasPayloads
      ? given({ result, resultChanges, input })
      : { resultHidden: result !== undefined, inputHidden: input !== undefined }),
    overlappedRunId: record.overlappedRunId ?? null,
  };
}

function pageStart(cursor: string): PageStart {
  const [key = '', job = ''] = readCursor(cursor);
  if (!/^\d{13}-(s|m-[0-9a-z]{1,64})$/.test(key)) throw wrongCursor(cursor);
  return { key, job };
}
