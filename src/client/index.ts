/**
 * A client of the HTTP API, for Node and browsers.
 *
 * @packageDocumentation
 */
import { OPERATIONS, type Operation, routeOf } from './operations';
import { type CallOptions, type ChangeCall, type ClientOptions, createTransport } from './transport';
import type {
  Acknowledged,
  Audit,
  AuditQuery,
  BackfillPlan,
  Calendar,
  Cancelled,
  Cordoned,
  Deployments,
  DueTimes,
  DueTimesQuery,
  Health,
  Jobs,
  JobState,
  Json,
  Me,
  OneBackfill,
  OneJob,
  OneRun,
  Paused,
  PausedMany,
  Poked,
  RepairedLayout,
  Requested,
  Resumed,
  RunLog,
  Runs,
  RunsQuery,
  StartedBackfill,
  StoppedBackfill,
  Time,
  Timeline,
  TimelineQuery,
  Version,
  Why,
} from './types';

export { ApiError } from './api-error';
export type { CallOptions, ClientOptions } from './transport';
export type * from './types';

/** The options of a change to a job. */
export interface ChangeOptions extends CallOptions {
  /** The `controlVersion` of the job on which the change is decided: if it has another one, the change is refused. */
  readonly ifVersion?: string | undefined;
}

/** The options of a manual run. */
export interface RunOptions extends ChangeOptions {
  /** In the place of the job's own input. */
  readonly input?: Json;
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
  readonly from: Time;
  /** The newest due time, or an instant after it. Default: now. */
  readonly to?: Time | undefined;
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
  listJobs(query?: { readonly tag?: string; readonly state?: JobState }, options?: CallOptions): Promise<Jobs>;
  getJob(job: string, options?: CallOptions): Promise<OneJob>;
  listDueTimes(query?: DueTimesQuery, options?: CallOptions): Promise<DueTimes>;
  /** What jobs have done and will do around now. */
  getTimeline(query?: TimelineQuery, options?: CallOptions): Promise<Timeline>;
  explain(job: string, time: Time, options?: CallOptions): Promise<Why>;
  listRuns(query?: RunsQuery, options?: CallOptions): Promise<Runs>;
  getRun(runId: string, options?: CallOptions): Promise<OneRun>;
  /** What the handler of a run said. To follow it, ask again with `from: next` until it has ended. */
  getLog(
    runId: string,
    query?: { readonly from?: string; readonly item?: number },
    options?: CallOptions,
  ): Promise<RunLog>;
  /** The outcomes of a job by day. */
  getCalendar(job: string, query?: { readonly from?: Time }, options?: CallOptions): Promise<Calendar>;
  listDeployments(options?: CallOptions): Promise<Deployments>;
  runJob(job: string, options?: RunOptions): Promise<Requested>;
  /** Runs an earlier due time again. Without an input, the run gets the one that it had. */
  rerun(runId: string, options?: RunOptions): Promise<Requested>;
  /** Lists the due times of a back-fill, without starting it. */
  planBackfill(job: string, span: BackfillSpan, options?: CallOptions): Promise<BackfillPlan>;
  /** Runs past due times again, one after another. Those that have succeeded are skipped. */
  startBackfill(job: string, span: BackfillSpan, options?: NoteOptions): Promise<StartedBackfill>;
  /** How far the last back-fill of a job is. */
  getBackfill(job: string, options?: CallOptions): Promise<OneBackfill>;
  /** Stops a back-fill. Its run in progress continues. */
  stopBackfill(job: string, options?: ChangeOptions): Promise<StoppedBackfill>;
  cancelRun(runId: string, options?: NoteOptions): Promise<Cancelled>;
  pauseJob(job: string, note: string, options?: ChangeOptions & PlannedEnd): Promise<Paused>;
  resumeJob(job: string, options?: NoteOptions): Promise<Resumed>;
  /** Acknowledges the failures of a job until its next success: lists show it below those that no one looks after. */
  acknowledge(job: string, options?: AcknowledgeOptions): Promise<Acknowledged>;
  unacknowledge(job: string, options?: ChangeOptions): Promise<Acknowledged>;
  /** Pauses several jobs. One that cannot be paused does not keep the others from it. */
  pauseJobs(jobs: JobChoice, note: string, options?: CallOptions & PlannedEnd): Promise<PausedMany>;
  resumeJobs(jobs: JobChoice, options?: Omit<NoteOptions, 'ifVersion'> & EndedMaintenance): Promise<PausedMany>;
  cordonDeployment(deployment: string, note: string, options?: CallOptions): Promise<Cordoned>;
  uncordonDeployment(deployment: string, options?: Omit<NoteOptions, 'ifVersion'>): Promise<Cordoned>;
  repairLayout(options?: Omit<NoteOptions, 'ifVersion'>): Promise<RepairedLayout>;
  /** Starts a tick of the deployment that answers, as a second clock. */
  poke(options?: CallOptions): Promise<Poked>;
  /** What people changed, newest first. */
  listAudit(query?: AuditQuery, options?: CallOptions): Promise<Audit>;
  getMe(options?: CallOptions): Promise<Me>;
  getVersion(options?: CallOptions): Promise<Version>;
  /** Rejects with an {@link ApiError} of status 503 where the instance cannot do its work. */
  getReady(options?: CallOptions): Promise<Health>;
  getLive(options?: CallOptions): Promise<Health>;
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
