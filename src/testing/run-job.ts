import type { JobName, LeaseId, Millis, Token } from '../core/brand';
import type { Reason, RanOutcome, Trigger } from '../core/outcome';
import { type JobSpec, actualTime } from '../core/job';
import { recordKey, runIdOf } from '../core/key';
import type { Progress } from '../core/log-entry';
import { type LedgerRecord, storeRecord } from '../core/record';
import type { RecordedError } from '../core/recorded-error';
import { type Row, encodeRow, newRow } from '../core/row';
import type { AbortCode } from '../core/run';
import { UNTRACED } from '../coordinator/telemetry';
import { type Coordinator, type Report, type RunnableJob, createCoordinator } from '../coordinator/coordinator';
import type { FanOutHandler } from '../handler/define-fan-out';
import { type Aborter, createAborter } from '../coordinator/bounded';
import { type AttemptLog, NO_LOG } from '../coordinator/attempt/attempt-log';
import { NO_MEMBERSHIP } from '../coordinator/groups';
import { type HandlerCall, runHandler } from '../coordinator/attempt/run-handler';
import type { OrchestrationHandler } from '../handler/define-orchestration';
import type { JobContext, JobHandler } from '../handler/handler';
import { type HeldRow, holdRow } from '../coordinator/held';
import { loadJobs } from '../config/load';
import type { JobInFile } from '../config/job-in-file';
import { type ClosableFence, StaleLeaderError } from '../lease/fence';
import { Trust } from '../lease/trust';
import { memoryService } from '../stores/memory/store';
import { type SettableClock, settableClock } from './clock';
import { type CallJob, type CallTestOptions, playedCall } from './run-call';
import { type OrchestrationTestOptions, type OrchestrationCall, playedOrchestration } from './run-orchestration';

/** The settings of a job, as the jobs file has them. */
export type JobTestSettings = Readonly<Partial<Omit<JobInFile, 'handler' | 'call'>>>;

/** A value as it comes back from the ledger, which keeps JSON: a `Date` becomes text. */
export type Stored<Value> = Value extends { toJSON(...parameters: never[]): infer Json }
  ? Json
  : Value extends object
    ? { readonly [Key in keyof Value]: Stored<Value[Key]> }
    : Value;

/** The options of {@link runJob}. Each has a default. */
export interface JobTestOptions extends CallTestOptions, OrchestrationTestOptions {
  /** The job's settings, as in the jobs file: `timeout`, `stallAfter`, `input`, …; `schedule` may be left out. */
  readonly settings?: JobTestSettings;
  /** The job's name. Default: `job`. */
  readonly job?: string;
  /** Default: a new clock that starts at `scheduledFor`. */
  readonly clock?: SettableClock;
  /** The due time. Default: the time of `clock`, or else 2026-01-01T00:00:00Z. */
  readonly scheduledFor?: Date | string;
  /** The number of the attempt. Default: 1. */
  readonly attempt?: number;
  /** The run's trigger. Default: `schedule`. */
  readonly trigger?: Trigger;
  /** The fencing token. Default: 1. */
  readonly token?: number;
  /** The record that `ctx.previous()` returns. Default: none. */
  readonly previous?: LedgerRecord;
  /** The tokens that blobs hold before the run, by URL. The fence rejects a write over a higher token. */
  readonly tokens?: Readonly<Record<string, number>>;
  /** Called once the handler has started: it may let time pass, abort the attempt, or take the lease away. */
  readonly during?: (run: RunningJob) => void | Promise<void>;
}

/** A handler that is being run. */
export interface RunningJob {
  readonly clock: SettableClock;
  /** Ends the attempt, as the coordinator would. */
  abort(code: Exclude<AbortCode, 'leaseLost'>): void;
  /** Makes another process the leader: the signal is aborted, and the fence rejects writes. */
  loseLease(): void;
}

/** One write through the fence, kept in memory. */
export interface FencedWrite {
  readonly url: string;
  readonly body: string | Uint8Array;
  readonly contentType: string | undefined;
  readonly token: number;
}

/** The result of {@link runJob}. */
export interface JobTest<Result = unknown> {
  /** `lost`: the lease was lost, so nothing is recorded. */
  readonly outcome: Exclude<RanOutcome, 'failed'> | 'failed' | 'draining' | 'lost';
  readonly reason: Reason;
  /** The handler's return value, as the ledger would keep it. Undefined if the handler did not return. */
  readonly result: Result | undefined;
  readonly error: RecordedError | null;
  readonly writes: readonly FencedWrite[];
  /** The lines that the handler logged. */
  readonly logs: readonly { readonly level: string; readonly message: readonly unknown[] }[];
  /** The progress that the handler reported last. Undefined if it reported none with a note or a fraction. */
  readonly progress: Progress | undefined;
  /** The calls that an orchestrator made, in order. Absent for other jobs. */
  readonly activities?: readonly OrchestrationCall[];
  /** The last custom status of an orchestration. */
  readonly customStatus?: unknown;
}

/**
 * Runs a handler once, as an attempt of the coordinator would. Its schema parses the input, the clock of the test
 * drives its timeout, stall limit and grace, its result must fit the ledger, and its fence keeps the writes in memory.
 *
 * A job with a `call` is passed as it is in the jobs file, `{ call: {…} }`. Its requests go to `fetch` of the options, and
 * its waits for an operation pass at once.
 *
 * Of an orchestration, the test gives the generator and the activities. Each is called once, without replays, its timers
 * pass at once while no activity is at work, and `fenceOf` in an activity is the fence of the test.
 *
 * @throws ConfigError when the settings, or the input, are not valid
 */
export async function runJob<Result>(
  handler: JobHandler<Result> | CallJob | OrchestrationHandler,
  options: JobTestOptions = {},
): Promise<JobTest<Stored<Awaited<Result>>>> {
  const bench = await testBench(handler, options);
  const { clock, trust, aborter } = bench;
  const { spec, input } = bench.held.job;
  const played = spec.call && playedCall({ ...spec, call: spec.call }, clock, options);
  const orchestrated =
    'orchestrator' in handler ? playedOrchestration(bench, handler.orchestrator, options) : undefined;
  const handlerCall = callAttempt(bench, (context) => {
    if ('run' in handler) return handler.run(context, input as never);
    return orchestrated?.run(context) ?? played?.call(context, input);
  });
  await clock.advance(0);
  await options.during?.({
    clock,
    abort: (code) => {
      const reasons = { timedOut: 'timeout', stalled: 'stallAfter', cancelled: 'cancelRequested' } as const;
      aborter.abort(code, code === 'draining' ? 'instanceStopped' : reasons[code], `${code}, by the test`);
    },
    loseLease: () => {
      trust.end();
      aborter.abort('leaseLost', 'leaseLost', 'the lease is lost, by the test');
    },
  });
  const done = await finish(clock, handlerCall, aborter, orchestrated?.takeWait ?? played?.takeWait);
  return {
    // Its result has passed through JSON, so this type is right.
    ...(conclude(bench, done) as JobTest<Stored<Awaited<Result>>>),
    ...(orchestrated && { activities: orchestrated.activities, customStatus: orchestrated.customStatus() }),
  };
}

/** Everything that an attempt needs, in memory. */
export type Bench = Awaited<ReturnType<typeof testBench>>;

export async function testBench(handler: TestedJob, options: JobTestOptions) {
  const { spec, input } = prepare(handler, options);
  const clock = options.clock ?? settableClock(instant(options.scheduledFor) ?? Date.UTC(2026, 0, 1));
  const scheduledFor = instant(options.scheduledFor) ?? clock.now();
  const trust = Trust.withoutLease(clock, { wall: clock.now(), monotonic: clock.monotonic() }, Infinity);
  const writes: FencedWrite[] = [];
  const logs: { level: string; message: readonly unknown[] }[] = [];
  const said: { progress: Progress | undefined } = { progress: undefined };
  const row = rowOf(spec, scheduledFor, options);
  const coordinator = await coordinatorOf(clock, spec.name, options.previous);
  const report: Report = {
    event: () => undefined,
    log: (level, ...message) => logs.push({ level, message }),
  };
  const log: AttemptLog = {
    ...NO_LOG,
    progress: (progress) => {
      said.progress = progress;
    },
  };
  const isCalledHere = 'call' in handler || 'orchestrator' in handler;
  const job = { spec, handler: isCalledHere ? UNCALLED : handler, input };
  return {
    clock,
    coordinator,
    held: await hold(coordinator, report, job, row, trust),
    trust,
    aborter: createAborter(),
    fence: memoryFence(spec.name, row.token, trust, options.tokens ?? {}, writes),
    trigger: options.trigger ?? 'schedule',
    report,
    writes,
    logs,
    said,
    log,
  };
}

type TestedJob = JobHandler | FanOutHandler | CallJob | OrchestrationHandler;

/** The test makes the call itself, or plays the orchestration. */
const UNCALLED = { call: () => Promise.resolve() };

/** Claims the row in memory, as an attempt does. */
async function hold(
  coordinator: Coordinator,
  report: Report,
  job: RunnableJob,
  row: Row,
  trust: Trust,
): Promise<HeldRow> {
  const { store } = coordinator;
  const { name, leaseMs } = job.spec;
  const leaseId = coordinator.newId() as LeaseId;
  await store.createRow(name, encodeRow(row));
  const created = await store.readRow(name);
  if (created === undefined) throw new Error(`the row of job "${name}" was not created`);
  const { etag } = created;
  await store.acquire(name, { leaseId, leaseMs, ifMatch: etag });
  const guard = { job, leaseId, leaseMs, etag };
  const first = { row, remaining: () => trust.remaining(), trustFrom: () => trust };
  const claimed = await holdRow(coordinator, report, guard, first);
  if (claimed === undefined) throw new Error(`the row of job "${name}" could not be claimed`);
  return claimed.held;
}

export function callAttempt(bench: Bench, call: (context: JobContext) => unknown): Promise<HandlerCall> {
  const attempt = {
    ...bench,
    membership: NO_MEMBERSHIP,
    span: UNTRACED,
    controls: { last: undefined, saw: () => undefined },
  };
  return runHandler(attempt, call);
}

/** Moves the clock by `takeWait`, and after an abort through the grace, until the handler ends. */
export async function finish<T>(
  clock: SettableClock,
  handlerCall: Promise<T>,
  aborter: Aborter,
  takeWait: () => Millis = () => 0,
): Promise<T> {
  let over = false;
  const ended = handlerCall.finally(() => {
    over = true;
  });
  while (!over) await clock.advance(aborter.signal.aborted ? 1000 : takeWait());
  return ended;
}

/** The result of a test, whose fence lets no more writes through. */
export function conclude({ fence, writes, logs, said }: Bench, handlerCall: HandlerCall): JobTest {
  fence.close();
  return { ...endOf(handlerCall), error: handlerCall.error, writes, logs, progress: said.progress };
}

function endOf({ end, result }: HandlerCall): Pick<JobTest, 'outcome' | 'reason' | 'result'> {
  switch (end.kind) {
    case 'returned':
      return { outcome: 'succeeded', reason: 'completed', result };
    case 'threw':
      return { outcome: 'failed', reason: end.reason, result: undefined };
    case 'notRun':
    case 'crowded':
      throw new Error('a tested job has no operators who could pause it, and no limit of handlers');
    case 'aborted':
      return { outcome: end.code === 'leaseLost' ? 'lost' : end.code, reason: end.reason, result: undefined };
  }
}

function prepare(handler: TestedJob, options: JobTestOptions): { spec: JobSpec; input: unknown } {
  const name = options.job ?? 'job';
  // There is no other job here, and only its due times would wait for others.
  const isCall = 'call' in handler;
  const what = isCall ? { call: handler.call } : { handler: 'tested' };
  const settings = { schedule: '@manual', ...options.settings, requires: [], ...what };
  const { appSettings = {} } = options;
  const { jobsFile, inputs } = loadJobs(
    { jobs: { [name]: settings } },
    {
      handlers: isCall ? {} : { tested: handler },
      calls: () => ({ readSetting: (setting) => appSettings[setting], whyForbidden: () => undefined }),
    },
  );
  const [spec] = jobsFile.jobs;
  if (spec === undefined) throw new Error(`job "${name}" is missing after it was loaded`);
  return { spec, input: inputs.get(spec.name) };
}

function rowOf(spec: JobSpec, scheduledFor: number, { attempt = 1, token = 1, trigger }: JobTestOptions): Row {
  const since = actualTime(spec, scheduledFor);
  return {
    ...newRow(scheduledFor, 0, spec.scheduleHash),
    token: token as Token,
    phase: 'running',
    attempt,
    run: { key: recordKey(scheduledFor), scheduledFor, trigger: trigger ?? 'schedule', since },
  };
}

async function coordinatorOf(
  clock: SettableClock,
  job: JobName,
  previous: LedgerRecord | undefined,
): Promise<Coordinator> {
  const store = memoryService(clock).open();
  if (previous !== undefined) {
    const key = recordKey(Date.parse(previous.scheduledFor));
    const record = { ...previous, runId: runIdOf(job, key) };
    await store.createRecord(job, key, storeRecord(record));
  }
  return createCoordinator({
    store,
    clock,
    random: () => 0.5,
    newId: () => 'test',
    deployment: 'test',
    revision: 0,
    jobs: new Map(),
    settings: { lookAheadMs: 5_000, sweepIntervalMs: 60_000, functionTimeoutMs: 30 * 60_000 },
  });
}

function memoryFence(
  job: JobName,
  token: Token,
  trust: Trust,
  tokens: Readonly<Record<string, number>>,
  writes: FencedWrite[],
): ClosableFence {
  let closed = false;
  const check = (): void => {
    if (closed || !trust.holds) throw new StaleLeaderError(`the attempt of job "${job}" is no longer the leader`);
  };
  return {
    token,
    check,
    close: () => {
      closed = true;
    },
    write: (blob, body, options) => {
      try {
        check();
        const seen = tokens[blob.url] ?? 0;
        if (seen > token) throw new StaleLeaderError(`${blob.url} was written with token ${String(seen)}`);
      } catch (error) {
        return Promise.reject(error);
      }
      writes.push({ url: blob.url, body, contentType: options?.contentType, token });
      return Promise.resolve();
    },
  };
}

function instant(time: Date | string | undefined): number | undefined {
  return time === undefined ? undefined : new Date(time).getTime();
}
