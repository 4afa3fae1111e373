import { BlobServiceClient } from '@azure/storage-blob';
import * as df from 'durable-functions';
import { appendFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import pg from 'pg';
import {
  type JobContext,
  NonRetryableError,
  type OrchestrationRun,
  StaleLeaderError,
  defineFanOut,
  defineJob,
  defineOrchestration,
  fenceOf,
  registerCoordinator,
} from '../../../src/index';
import { type Line, openLine } from '../../../src/stores/zookeeper/session';
import { ensembleOf } from '../../../src/stores/http/url';
import { trueNow } from '../time';
import type { Note } from './note';

type Extra = Pick<Note, 'code' | 'trustedAt' | 'begunAt'>;

function note(
  what: Note['what'],
  { job, scheduledFor, attempt, trigger, fence, runId }: JobContext,
  extra: Extra = {},
): void {
  const line: Note = {
    what,
    job,
    scheduledFor: scheduledFor.getTime(),
    attempt,
    trigger,
    isBackfill: runId.includes('-m-'),
    token: fence.token,
    deployment: process.env['CRONLEASE_DEPLOYMENT'] ?? '',
    pid: process.pid,
    at: trueNow(),
    ...extra,
  };
  appendFileSync(process.env['CHAOS_NOTES'] ?? '', `${JSON.stringify(line)}\n`);
}

let service: BlobServiceClient | undefined;
const INTO = 'fenced';

let pool: pg.Pool | undefined;

async function writeTable({ job, fence }: JobContext, connectionString: string, text: string): Promise<void> {
  pool ??= new pg.Pool({ connectionString, max: 1 }).on('error', () => undefined);
  fence.check();
  const { rowCount } = await pool.query(
    `insert into "chaos".fenced (blob, token, text) values ($1, $2, $3)
      on conflict (blob) do update set token = excluded.token, text = excluded.text
      where fenced.token <= excluded.token`,
    [job, fence.token, text],
  );
  if (rowCount === 0) throw new StaleLeaderError(`${job}: token ${String(fence.token)} is stale`);
}

let client: Redis | undefined;

async function writeKey({ job, fence }: JobContext, url: string, text: string): Promise<void> {
  client ??= new Redis(url, { protocol: 2, maxRetriesPerRequest: 0 }).on('error', () => undefined);
  fence.check();
  const written = await client.eval(
    `local token = redis.call('HGET', KEYS[1], ARGV[1])
     if token and tonumber(token) > tonumber(ARGV[2]) then return 0 end
     redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
     redis.call('HSET', KEYS[1], ARGV[1] .. ':text', ARGV[3])
     return 1`,
    ...[1, 'chaos:fenced', job, fence.token, text],
  );
  if (written === 0) throw new StaleLeaderError(`${job}: token ${String(fence.token)} is stale`);
}

const encoded = (text: string): string => Buffer.from(text).toString('base64');
/** Values are compared as texts. */
const sortable = (token: number): string => String(token).padStart(16, '0');

async function transact(url: string, compare: object, key: string, token: number): Promise<boolean> {
  const put = { request_put: { key, value: encoded(sortable(token)) } };
  const response = await fetch(`${url.replace(/^etcd:/, 'http:')}/v3/kv/txn`, {
    method: 'POST',
    body: JSON.stringify({ compare: [compare], success: [put] }),
  });
  if (!response.ok) throw new Error(`etcd has answered ${String(response.status)}`);
  return ((await response.json()) as { readonly succeeded?: boolean }).succeeded === true;
}

async function writeValue({ job, fence }: JobContext, url: string): Promise<void> {
  fence.check();
  const key = encoded(`/chaos/fenced/${job}`);
  const { token } = fence;
  const isOlder = { key, target: 'VALUE', result: 'LESS', value: encoded(sortable(token + 1)) };
  if (await transact(url, isOlder, key, token)) return;
  // The comparison of a key that is missing fails, too.
  if (await transact(url, { key, target: 'CREATE', result: 'EQUAL', create_revision: '0' }, key, token)) return;
  throw new StaleLeaderError(`${job}: token ${String(token)} is stale`);
}

/** Writes if the key is as it was read, and holds no higher token. */
async function writeIndexed({ job, fence }: JobContext, url: string): Promise<void> {
  fence.check();
  const { token } = fence;
  const key = `${url.replace(/^consul:/, 'http:')}/v1/kv/chaos/fenced/${job}`;
  for (;;) {
    const seen = await fetch(`${key}?consistent`);
    if (!seen.ok && seen.status !== 404) throw new Error(`Consul has answered ${String(seen.status)}`);
    const [found] = seen.ok
      ? ((await seen.json()) as { readonly Value: string; readonly ModifyIndex: number }[])
      : [await seen.text().then(() => undefined)];
    if (found !== undefined && Number(Buffer.from(found.Value, 'base64').toString()) > token) break;
    const cas = String(found?.ModifyIndex ?? 0);
    // The proxy reads the answer, which Consul would compress for a client that takes that.
    const headers = { 'Accept-Encoding': 'identity' };
    const written = await fetch(`${key}?cas=${cas}`, { method: 'PUT', body: String(token), headers });
    if (!written.ok) throw new Error(`Consul has answered ${String(written.status)}`);
    if ((await written.text()).trim() === 'true') return;
  }
  throw new StaleLeaderError(`${job}: token ${String(token)} is stale`);
}

let line: Line | undefined;

/** Writes if the node is as it was read, and holds no higher token. */
async function writeNode({ job, fence }: JobContext, url: string): Promise<void> {
  fence.check();
  const ensemble = ensembleOf(url);
  const [address] = ensemble.members;
  if (address === undefined) throw new Error(`no server in ${url}`);
  const used = (line ??= openLine(ensemble, address));
  // The next write opens another one.
  void used.ended.then(() => (line = line === used ? undefined : line));
  await used.ready;
  const path = `/chaos-fenced/${job}`;
  const data = Buffer.from(String(fence.token));
  for (;;) {
    const node = await used.session.get(path);
    if (node !== undefined && Number(node.data.toString()) > fence.token) break;
    const answer = await used.session.multi([
      node === undefined ? { kind: 'create', path, data } : { kind: 'set', path, data, version: node.stat.version },
    ]);
    if (answer.kind === 'done') return;
  }
  throw new StaleLeaderError(`${job}: token ${String(fence.token)} is stale`);
}

async function writeBlob({ job, fence }: JobContext, connection: string, text: string): Promise<void> {
  service ??= BlobServiceClient.fromConnectionString(connection);
  await fence.write(service.getContainerClient(INTO).getBlockBlobClient(job), text);
}

function writerFor(storage: string): typeof writeBlob {
  if (storage.startsWith('postgres:')) return writeTable;
  if (storage.startsWith('etcd:')) return writeValue;
  if (storage.startsWith('zk:')) return writeNode;
  if (storage.startsWith('consul:')) return writeIndexed;
  return storage.startsWith('redis:') ? writeKey : writeBlob;
}

/** A fenced write, whose outcome is noted. */
async function write(context: JobContext): Promise<void> {
  const storage = process.env['CRONLEASE_STORAGE'] ?? '';
  const begunAt = trueNow();
  const text = `attempt ${String(context.attempt)} at ${String(begunAt)}`;
  try {
    await writerFor(storage)(context, storage, text);
    note('wrote', context, { begunAt });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'StaleLeader') note('refused', context);
    // Storage that cannot be reached, or an attempt that is over, is neither accepted nor refused.
  }
}

/** Runs `work`, and notes its start, its abort, its end and how long it saw its fence trust. */
async function noted(context: JobContext, work: (stillTrusts: () => boolean) => Promise<void> | void): Promise<void> {
  let trustedAt = trueNow();
  note('started', context);
  context.signal.addEventListener('abort', () => {
    const { reason } = context.signal as { reason: unknown };
    const code = reason instanceof Error && 'code' in reason ? String(reason.code) : 'unknown';
    note('aborted', context, { code });
  });
  const stillTrusts = (): boolean => {
    // Taken first: the process may be stopped in between.
    const at = trueNow();
    try {
      context.fence.check();
      trustedAt = at;
      return true;
    } catch {
      return false;
    }
  };
  try {
    await work(stillTrusts);
    stillTrusts();
  } finally {
    note('ended', context, { trustedAt });
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const POLL_MS = 100;
const WRITE_EVERY = 10;

interface Long {
  /** How long the first attempt takes. */
  readonly ms: number;
  /** How long a later one takes. */
  readonly laterMs: number;
  /** The first attempt keeps the event loop from running for so long, half a second after its start. */
  readonly blockMs?: number;
}

/**
 * Works for long, looks at its fence all the time, and writes under it now and then. It ignores its signal, but for
 * one last fenced write: what a stale leader must not get away with.
 */
async function long(context: JobContext, { ms, laterMs, blockMs }: Long): Promise<void> {
  await noted(context, async (stillTrusts) => {
    const end = performance.now() + (context.attempt === 1 ? ms : laterMs);
    if (blockMs !== undefined && context.attempt === 1) {
      await wait(500);
      stillTrusts();
      const until = performance.now() + blockMs;
      while (performance.now() < until);
      note('unblocked', context);
      await write(context);
    }
    for (let turn = 0; performance.now() < end && !context.signal.aborted; turn += 1) {
      if (!stillTrusts() || turn % WRITE_EVERY === 0) await write(context);
      await wait(POLL_MS);
    }
    if (context.signal.aborted) await write(context);
  });
}

interface Step {
  readonly step: number;
  readonly isLast: boolean;
  readonly cronlease: OrchestrationRun;
}

/** When this process last saw the fence of an orchestration trust, by its token; Infinity: its end is noted. */
const trusted = new Map<number, number>();
const STEPS_MS = 1_000;

/** A step of an orchestration. It works on although its fence refuses it, and so does the orchestration. */
async function step({ step: index, isLast, cronlease }: Step): Promise<void> {
  const { job, runId, attempt, token } = cronlease;
  const { check, write: writeFenced } = fenceOf(cronlease);
  const fence = { token, check: () => undefined, write: writeFenced };
  const scheduledFor = new Date(cronlease.scheduledFor);
  const context = { job, runId, attempt, scheduledFor, trigger: 'schedule', fence } as unknown as JobContext;
  const end = (extra: Extra): void => {
    note('ended', context, extra);
    trusted.set(token, Infinity);
  };
  if (index === 1) note('started', context);
  for (const until = performance.now() + STEPS_MS; performance.now() < until; await wait(POLL_MS)) {
    const at = trueNow();
    try {
      await check();
      trusted.set(token, at);
    } catch (error) {
      if (!(error instanceof StaleLeaderError)) continue;
      const trustedAt = trusted.get(token);
      if (trustedAt === Infinity) break;
      note('aborted', context, { code: error.code });
      end(trustedAt === undefined ? {} : { trustedAt });
      break;
    }
  }
  await write(context);
  if (isLast && trusted.get(token) !== Infinity) end({ trustedAt: trusted.get(token) ?? 0 });
}

df.app.activity('step', { handler: step });

/** The first attempt outlasts a take-over. */
const STEPS = { first: 150, later: 3 };

df.app.orchestration('steps', function* (context) {
  const { cronlease } = context.df.getInput<{ readonly cronlease: OrchestrationRun }>();
  const count = cronlease.attempt === 1 ? STEPS.first : STEPS.later;
  for (let index = 1; index <= count; index += 1) {
    yield context.df.callActivity('step', { step: index, isLast: index === count, cronlease });
  }
});

const handlers = {
  steps: defineOrchestration({ orchestrator: 'steps', takeOverAfter: '1m' }),
  quick: defineJob({ run: (context) => noted(context, () => undefined) }),
  work: defineJob<{ ms: number }>({ run: (context, { ms }) => noted(context, () => wait(ms)) }),
  flaky: defineJob({
    run: (context) =>
      noted(context, () => {
        if (context.attempt === 1) throw new Error('the first attempt fails');
      }),
  }),
  alternates: defineJob<{ everyMs: number }>({
    run: (context, { everyMs }) =>
      noted(context, () => {
        const isEven = Math.floor(context.scheduledFor.getTime() / everyMs) % 2 === 0;
        if (isEven) throw new NonRetryableError('each second run fails');
      }),
  }),
  long: defineJob<Long>({ run: long }),
  wide: defineFanOut({
    concurrency: 3,
    deadline: '15s',
    plan: async (context) => {
      await noted(context, () => undefined);
      return [1, 2, 3, 4, 5, 6];
    },
    each: async () => wait(300),
    gather: (context) => noted(context, () => undefined),
  }),
};

registerCoordinator({ jobs: 'jobs.json', handlers });
