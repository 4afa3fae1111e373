import { given } from '../core/given';
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span as ApiSpan,
  SpanStatusCode,
  type Tracer,
  context,
  trace,
} from '@opentelemetry/api';
import type { EpochMs } from '../core/brand';
import { isoOf } from '../core/iso';
import type { JobSpec } from '../core/job';
import { parseRecordKey, runIdOf } from '../core/key';
import type { Invocation, Span, Stage, StageFacts, StageStart, TracedEnd, TracedRun } from '../coordinator/telemetry';
import { hash, randomFillSync } from 'node:crypto';

export const SPANS: Readonly<Record<Stage | 'run', string>> = {
  run: 'cronlease.run',
  tick: 'cronlease.tick',
  race: 'cronlease.race',
  handOver: 'cronlease.hand_over',
  attempt: 'cronlease.attempt',
  claim: 'cronlease.claim',
  handler: 'cronlease.handler',
  settle: 'cronlease.settle',
  item: 'cronlease.item',
};

const SAMPLED = 1;
/** A job has one run at a time, and the next one may be claimed ahead. */
const RUNS_OF_JOB = 3;
/** Schedules that are not cron expressions. */
const NOT_CRON = /^@(every|at)\b/;

interface SpanOptions {
  readonly tracer: Tracer;
  /** Undefined: the app has its own SDK, which makes every id. */
  readonly ids: IdSource | undefined;
  readonly idsOf: (runId: string) => RunIds;
  readonly deployment: string;
  /** The service's time. */
  readonly now: () => EpochMs;
}

export interface Spans {
  begin(stage: Stage, run: TracedRun, start?: StageStart): Span;
  ended(run: TracedRun, end: TracedEnd): void;
}

/** What a span says of its run, and what those inside it say: less, because each attribute costs. */
interface SpanAttributes {
  readonly own: Attributes;
  readonly inner: Attributes;
}

interface KnownRun {
  readonly ids: RunIds;
  /** With the run's own span as the parent. */
  readonly root: Context;
  readonly common: Attributes;
  readonly inner: Attributes;
}

/**
 * Makes the spans of runs. All stages of a run have the run's own span as their parent or ancestor. Its ids follow from
 * the run's name, so an instance needs no message to find it. It is written last, by the instance that ends the run.
 */
export function createSpans(options: SpanOptions): Spans {
  const { tracer, ids, now } = options;

  /** The span of the run, which does not exist yet. The sampler decides about it by its trace id, alike everywhere. */
  function rootOf(runIds: RunIds): TraceContext {
    if (ids === undefined) return { ...runIds, flags: SAMPLED };
    const probe = ids.with(runIds, () => tracer.startSpan(SPANS.run, { root: true }, ROOT_CONTEXT));
    // A span that is never ended is not exported.
    return { ...runIds, flags: probe.spanContext().traceFlags };
  }

  const known = new WeakMap<JobSpec, (key: string) => KnownRun>();

  /** What all spans of a run share. An instance begins several of them. */
  function knownRun({ job, key }: TracedRun): KnownRun {
    const ofJob =
      known.get(job) ??
      remembering((one: string): KnownRun => {
        const runIds = options.idsOf(runIdOf(job.name, one));
        const run = { job, key: one };
        return { ids: runIds, root: below(rootOf(runIds)), common: commonOf(options, run), inner: innerOf(run) };
      }, RUNS_OF_JOB);
    known.set(job, ofJob);
    return ofJob(key);
  }

  function spanIn(parent: Context, { own, inner }: SpanAttributes, stage: Stage, start: StageStart): Span {
    const { at = now(), invocation } = start;
    const attributes = { ...own, ...(own === inner ? {} : ofCall(at, invocation)) };
    const options = { startTime: new Date(at), attributes, links: linkTo(invocation) };
    const span = tracer.startSpan(SPANS[stage], options, parent);
    return {
      traceparent: traceparentOf(span),
      begin: (part, partStart = {}) =>
        spanIn(trace.setSpan(ROOT_CONTEXT, span), { own: inner, inner }, part, partStart),
      end(facts = {}) {
        span.setAttributes(attributesOf(facts));
        if (facts.isError === true) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end(new Date(now()));
      },
      within: (work) => context.with(trace.setSpan(context.active(), span), work),
    };
  }

  return {
    begin(stage, run, start = {}) {
      const { root, common, inner } = knownRun(run);
      const parent = start.parent === undefined ? undefined : parseTraceparent(start.parent);
      const isPart = stage === 'handOver';
      return spanIn(parent === undefined ? root : below(parent), { own: isPart ? inner : common, inner }, stage, start);
    },
    ended(run, { outcome, reason, trigger, since, attempts, at = now() }) {
      const { ids: runIds, root, common } = knownRun(run);
      const startTime = new Date(Math.min(since, at));
      const attributes = {
        ...common,
        'faas.time': isoOf(since),
        'cronlease.trigger': trigger,
        'cronlease.outcome': outcome ?? 'notRun',
        'cronlease.reason': reason,
        'cronlease.attempts': attempts,
      };
      const start = (parent: Context): ApiSpan => tracer.startSpan(SPANS.run, { startTime, attributes }, parent);
      const span = ids === undefined ? start(root) : ids.with(runIds, () => start(ROOT_CONTEXT));
      if (outcome !== null && outcome !== 'succeeded' && outcome !== 'cancelled') {
        span.setAttribute('error.type', reason);
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end(new Date(at));
    },
  };
}

/** The spans of a process that exports none: only the trace's ids are passed on, without a call of the SDK. */
export function unexportedSpans(idsOf: SpanOptions['idsOf']): Spans {
  const spanOf = remembering((runId) => passingOn(formatTraceparent({ ...idsOf(runId), flags: SAMPLED })));
  return {
    begin(_stage, { job, key }, { parent } = {}) {
      const own = spanOf(runIdOf(job.name, key));
      // Most parents come from an instance that exports no spans either.
      if (parent === undefined || parent === own.traceparent || parseTraceparent(parent) === undefined) return own;
      return passingOn(parent);
    },
    ended: () => undefined,
  };
}

function passingOn(traceparent: string): Span {
  const span: Span = { traceparent, begin: () => span, end: () => undefined, within: (work) => work() };
  return span;
}

function below({ traceId, spanId, flags }: TraceContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags, isRemote: true });
}

function traceparentOf(span: ApiSpan): string {
  const { traceId, spanId, traceFlags: flags } = span.spanContext();
  return formatTraceparent({ traceId, spanId, flags });
}

function innerOf({ job, key }: TracedRun): Attributes {
  return { 'cronlease.job': job.name, 'cronlease.run.id': runIdOf(job.name, key) };
}

/** What the spans of a run, its ticks, its attempts and its items have. */
function commonOf({ deployment }: SpanOptions, { job, key }: TracedRun): Attributes {
  const scheduledFor = parseRecordKey(key)?.scheduledFor;
  const isTimed = job.kind === 'timed' && parseRecordKey(key)?.request === undefined;
  return {
    'faas.trigger': isTimed ? 'timer' : 'other',
    ...(isTimed && !NOT_CRON.test(job.schedule) ? { 'faas.cron': job.schedule } : {}),
    'cronlease.job': job.name,
    'cronlease.run.id': runIdOf(job.name, key),
    ...(scheduledFor === undefined ? {} : { 'cronlease.scheduled_for': isoOf(scheduledFor) }),
    'cronlease.deployment': deployment,
  };
}

function ofCall(at: EpochMs, invocation: Invocation | undefined): Attributes {
  const time = { 'faas.time': isoOf(Math.round(at)) };
  return invocation === undefined ? time : { ...time, 'faas.invocation_id': invocation.id };
}

/** The host traces the call too, in its own trace. */
function linkTo(invocation: Invocation | undefined) {
  const known = parseTraceparent(invocation?.traceparent ?? '');
  if (known === undefined) return [];
  const { traceId, spanId, flags } = known;
  return [{ context: { traceId, spanId, traceFlags: flags, isRemote: true } }];
}

function attributesOf({ result, attempt, token, trigger, item }: StageFacts): Attributes {
  return {
    ...given({
      'cronlease.result': result,
      'cronlease.attempt': attempt,
      'cronlease.token': token,
      'cronlease.trigger': trigger,
      'cronlease.item': item,
    }),
  };
}

/** The ids of a run's trace. */
export interface RunIds {
  readonly traceId: string;
  /** Of the span of the whole run. */
  readonly spanId: string;
}

/**
 * The ids of a run's trace: the same for every instance, so that a take-over continues it, and others for each
 * `location`, because other containers may have the same jobs. Decision 114.
 */
export function idsOf(location: string, runId: string): RunIds {
  const digest = hash('sha256', `cronlease\n${location}\n${runId}`);
  return { traceId: digest.slice(0, 32), spanId: digest.slice(32, 48) };
}

/** Makes random ids, except for the next span of a run, whose ids are given. */
export class IdSource {
  #next: RunIds | undefined;

  /** Calls `start`, which starts one span without a parent: it gets these ids. */
  with<T>(ids: RunIds, start: () => T): T {
    this.#next = ids;
    try {
      return start();
    } finally {
      this.#next = undefined;
    }
  }

  readonly generateTraceId = (): string => this.#next?.traceId ?? randomHex(16);
  readonly generateSpanId = (): string => this.#next?.spanId ?? randomHex(8);
}

/** Random bytes are drawn many at a time: one call for each id was the largest part of a span's cost. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

/** An id of zeros is invalid. */
function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const id = pool.toString('hex', used, used + bytes);
  used += bytes;
  return /^0+$/.test(id) ? randomHex(bytes) : id;
}

/** How many runs at once are remembered: all that an instance works on. */
const REMEMBERED = 1_000;

/**
 * The same, computed once for each key. At least the last `most` keys are remembered, at most twice as many: two maps
 * take turns. A single map that drops its oldest key would search the holes of dropped keys each time.
 */
export function remembering<Value>(compute: (key: string) => Value, most = REMEMBERED): (key: string) => Value {
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();
  return (key) => {
    const found = young.get(key);
    if (found !== undefined) return found;
    const value = old.get(key) ?? compute(key);
    if (young.size >= most) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
    return value;
  };
}

export interface TraceContext extends RunIds {
  readonly flags: number;
}

/** W3C trace context, version 00. */
export function formatTraceparent({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${(flags & 0xff).toString(16).padStart(2, '0')}`;
}

/** Undefined if the text is not a trace context of version 00. */
export function parseTraceparent(text: string): TraceContext | undefined {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text);
  if (match === null) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = match;
  return /^0+$/.test(traceId) || /^0+$/.test(spanId)
    ? undefined
    : { traceId, spanId, flags: Number.parseInt(flags, 16) };
}
