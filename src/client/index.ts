/**
 * A client of the HTTP API, for Node and browsers.
 *
 * @packageDocumentation
 */
import { OPERATIONS, type Operation, routeOf } from './operations';
import {
  type CallOptions,
  type ChangeCall,
  type ChangeOptions,
  type ClientOptions,
  createTransport,
} from './transport';
import type * as api from './types';

export { ApiError } from './transport';
export type { CallOptions, ChangeOptions, ClientOptions } from './transport';
export type * from './types';

/** The options of a manual run. */
export interface RunOptions extends ChangeOptions {
  /** In the place of the job's own input. */
  readonly input?: api.Json;
  /** Why: shown with the run, and recorded. */
  readonly note?: string | undefined;
  /** A name of yours for this request: sent again under the same one, it is the same request. */
  readonly idempotencyKey?: string | undefined;
}

/** Several jobs, chosen in one of three ways. */
export type JobChoice =
  | { readonly jobs: readonly string[] }
  | { readonly tag: string }
  /** `*` stands for any characters, or none. */
  | { readonly pattern: string };

/** The end of a pause. */
export interface PlannedEnd {
  /** When it ends by itself: ISO 8601 with `Z` or an offset. Default: when it is ended. */
  readonly until?: string | undefined;
}

/** The maintenance that a resume ends. */
export interface EndedMaintenance {
  /** Its `jobs`, as lists show them. Default: those of the choice. */
  readonly maintenance?: string | undefined;
}

/** The options of an acknowledgement. */
export interface AcknowledgeOptions extends ChangeOptions {
  /** What you do about it, for all to read. */
  readonly note?: string | undefined;
  /** When it ends by itself: ISO 8601 with `Z` or an offset. Default: with the next success. */
  readonly until?: string | undefined;
}

/** Past due times to run again. */
export interface BackfillSpan {
  /** The oldest due time, or an instant before it. */
  readonly from: api.Time;
  /** The newest due time, or an instant after it. Default: now. */
  readonly to?: api.Time | undefined;
  /** The due times that run first. Default: `oldest`. */
  readonly order?: 'oldest' | 'newest' | undefined;
  /** How many run at most: the first ones in the order. */
  readonly limit?: number | undefined;
  /** Those that have succeeded run too. */
  readonly includeSucceeded?: true | undefined;
}

/** The options of a change with a note. */
export interface NoteOptions extends ChangeOptions {
  /** Why: it is recorded. */
  readonly note?: string | undefined;
}

/**
 * The operations of the API. Each rejects with {@link ApiError} for an error of the API, and with the error of `fetch`
 * where there was no answer. Reading repeats no unchanged answer over the network: it returns the same object again.
 */
export interface Client {
  listJobs(query?: { readonly tag?: string; readonly state?: api.JobState }, options?: CallOptions): Promise<api.Jobs>;
  getJob(job: string, options?: CallOptions): Promise<api.OneJob>;
  listDueTimes(query?: api.DueTimesQuery, options?: CallOptions): Promise<api.DueTimes>;
  /** What jobs have done and will do around now. */
  getTimeline(query?: api.TimelineQuery, options?: CallOptions): Promise<api.Timeline>;
  explain(job: string, time: api.Time, options?: CallOptions): Promise<api.Why>;
  listRuns(query?: api.RunsQuery, options?: CallOptions): Promise<api.Runs>;
  getRun(runId: string, options?: CallOptions): Promise<api.OneRun>;
  /** What the handler of a run said. To follow it, ask again with `from: next` until it has ended. */
  getLog(
    runId: string,
    query?: { readonly from?: string; readonly item?: number },
    options?: CallOptions,
  ): Promise<api.RunLog>;
  /** The outcomes of a job by day. */
  getCalendar(job: string, query?: { readonly from?: api.Time }, options?: CallOptions): Promise<api.Calendar>;
  listDeployments(options?: CallOptions): Promise<api.Deployments>;
  runJob(job: string, options?: RunOptions): Promise<api.Requested>;
  /** Runs an earlier due time again. Without an input, the run gets the one that it had. */
  rerun(runId: string, options?: RunOptions): Promise<api.Requested>;
  /** Lists the due times of a back-fill, without starting it. */
  planBackfill(job: string, span: BackfillSpan, options?: CallOptions): Promise<api.BackfillPlan>;
  /** Runs past due times again, one after another. Those that have succeeded are skipped. */
  startBackfill(job: string, span: BackfillSpan, options?: NoteOptions): Promise<api.StartedBackfill>;
  /** How far the last back-fill of a job is. */
  getBackfill(job: string, options?: CallOptions): Promise<api.OneBackfill>;
  /** Stops a back-fill. Its run in progress continues. */
  stopBackfill(job: string, options?: ChangeOptions): Promise<api.StoppedBackfill>;
  cancelRun(runId: string, options?: NoteOptions): Promise<api.Cancelled>;
  pauseJob(job: string, note: string, options?: ChangeOptions & PlannedEnd): Promise<api.Paused>;
  resumeJob(job: string, options?: NoteOptions): Promise<api.Resumed>;
  /** Acknowledges the failures of a job until its next success: lists show it below those that no one looks after. */
  acknowledge(job: string, options?: AcknowledgeOptions): Promise<api.Acknowledged>;
  unacknowledge(job: string, options?: ChangeOptions): Promise<api.Acknowledged>;
  /** Pauses several jobs. One that cannot be paused does not keep the others from it. */
  pauseJobs(jobs: JobChoice, note: string, options?: CallOptions & PlannedEnd): Promise<api.PausedMany>;
  resumeJobs(jobs: JobChoice, options?: Omit<NoteOptions, 'ifVersion'> & EndedMaintenance): Promise<api.PausedMany>;
  cordonDeployment(deployment: string, note: string, options?: CallOptions): Promise<api.Cordoned>;
  uncordonDeployment(deployment: string, options?: Omit<NoteOptions, 'ifVersion'>): Promise<api.Cordoned>;
  repairLayout(options?: Omit<NoteOptions, 'ifVersion'>): Promise<api.RepairedLayout>;
  /** Starts a tick of the deployment that answers, as a second clock. */
  poke(options?: CallOptions): Promise<api.Poked>;
  /** What people changed, newest first. */
  listAudit(query?: api.AuditQuery, options?: CallOptions): Promise<api.Audit>;
  getMe(options?: CallOptions): Promise<api.Me>;
  getVersion(options?: CallOptions): Promise<api.Version>;
  /** Rejects with an {@link ApiError} of status 503 where the instance cannot do its work. */
  getReady(options?: CallOptions): Promise<api.Health>;
  getLive(options?: CallOptions): Promise<api.Health>;
  /** The shortest useful time between two polls, as the last answer had it. */
  pollMs(): number | undefined;
}

/** Makes a client for the address of one app, with a key, a token, or the login of a browser. */
export function createClient(options: ClientOptions): Client {
  const { call, pollMs } = createTransport(options);
  const methods = Object.keys(OPERATIONS).map((id) => {
    const run = (...args: unknown[]): Promise<unknown> => {
      const inPath = OPERATIONS[id as Operation].match(/\{/g)?.length ?? 0;
      const [method, to, ...names] = routeOf(id as Operation, args.splice(0, inPath).map(String));
      const content = names.map((name) => (name === '...' ? args.shift() : { [name]: args.shift() }));
      // The other options belong to the content.
      const { signal, ifVersion, idempotencyKey, ...more } = (args[0] ?? {}) as ChangeCall;
      const change = { ifVersion, idempotencyKey, ...(signal === undefined ? {} : { signal }) };
      return call(method, to, Object.assign({}, ...content, more) as Record<string, unknown>, change);
    };
    return [id, run] as const;
  });
  return { ...Object.fromEntries(methods), pollMs } as unknown as Client;
}
