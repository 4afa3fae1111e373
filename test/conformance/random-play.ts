import { isDeepStrictEqual } from 'node:util';
import type { EpochMs, ETag, JobName, LeaseId, Millis } from '../../src/core/brand';
import { isObject } from '../../src/core/metadata';
import type { LeaseStore } from '../../src/lease/store';
import { type Asked, type Call, JOBS, type Seen } from './random-calls';
import type { Excuse } from './random-differences';

export type NamedExcuse = Excuse & { readonly name: string };

/** A service without content. */
export interface Side {
  readonly store: LeaseStore;
  /** As a person may do it. Without a lease nothing changes. */
  breakOutside(job: JobName, periodMs: Millis): Promise<void>;
}

interface Sides {
  readonly memory: Side;
  /** The store that is compared with it. */
  readonly other: Side;
  /** One clock for both. */
  now(): EpochMs;
  pass(ms: Millis): void | Promise<void>;
}

type Which = 'memory' | 'other';
type Both<T> = Readonly<Record<Which, T>>;

interface State {
  readonly sides: Sides;
  readonly excuses: readonly NamedExcuse[];
  /** Every ETag that was seen, in order: the n-th of one side stands for the n-th of the other. */
  readonly etags: Both<ETag[]>;
  /** The numbers of the ETags that each thing has had, oldest first. */
  readonly history: Map<string, number[]>;
  /** Where the last page of each job's records and pieces ended. */
  readonly continuations: Both<Map<string, string | undefined>>;
  /** How many bytes were appended to each log. */
  readonly lengths: Map<string, number>;
  readonly excused: string[];
  readonly leases: Map<JobName, { readonly id: LeaseId; readonly leaseMs: Millis; readonly end: EpochMs }>;
  readonly trace: string[];
}

/**
 * Makes the calls on both sides, one after another and 1 ms apart, and compares every answer.
 *
 * @returns the names of the excuses that were needed
 * @throws Error with all calls and answers so far, when two answers differ and no excuse says why
 */
export async function play(calls: readonly Call[], sides: Sides, excuses: readonly NamedExcuse[]): Promise<string[]> {
  const state: State = {
    sides,
    excuses,
    etags: { memory: [], other: [] },
    history: new Map(),
    continuations: { memory: new Map(), other: new Map() },
    leases: new Map(),
    lengths: new Map(),
    excused: [],
    trace: [],
  };
  for (const call of calls) {
    if (call.kind === 'pass') await pass(state, call.ms);
    else if (call.kind === 'passToEnd')
      await pass(state, (state.leases.get(call.job)?.end ?? 0) + call.by - sides.now());
    else await step(state, call);
  }
  await agree(state, { kind: 'list', job: undefined });
  for (const job of JOBS) await agree(state, { kind: 'listRecords', job, prefix: '', limit: 10, from: 'start' });
  return state.excused;
}

async function pass({ sides, trace }: State, ms: Millis): Promise<void> {
  if (ms <= 0) return;
  await sides.pass(ms);
  trace.push(`${String(ms)} ms pass`);
}

async function step(state: State, call: Asked): Promise<void> {
  // Two writes in one millisecond may get one ETag from the emulator.
  await state.sides.pass(1);
  const excuse = await excuseFor(state, call);
  const answer = await agree(state, call);
  if (call.kind === 'createRow' && answer === 'created') await agree(state, { kind: 'readRow', job: call.job });
  if (call.kind === 'writeControl' && answer === 'written') await agree(state, { kind: 'readControl', job: call.job });
  if (excuse !== undefined) await follow(state, excuse);
}

/** The difference that this call is about to make, with the job and its lease. */
async function excuseFor(state: State, call: Asked): Promise<{ excuse: NamedExcuse; job: JobName } | undefined> {
  const job = 'job' in call ? call.job : undefined;
  const holder = job === undefined ? undefined : state.leases.get(job)?.id;
  if (job === undefined || holder === undefined) return undefined;
  const row = await state.sides.memory.store.readRow(job);
  const excuse = state.excuses.find(({ applies }) => applies(call, row?.lease, holder));
  return excuse && { excuse, job };
}

/** The rows must differ now, as the excuse says; then memory is brought to where the other store is. */
async function follow(state: State, { excuse, job }: { excuse: NamedExcuse; job: JobName }): Promise<void> {
  const held = state.leases.get(job);
  const { memory, other } = await ask(state, { kind: 'readRow', job });
  if (held === undefined || isDeepStrictEqual(memory, other)) {
    throw disagreement(state, `${excuse.name} excuses a difference that there is not`);
  }
  state.excused.push(excuse.name);
  state.trace.push(`(${excuse.name})`);
  await excuse.follow(state.sides.memory.store, job, held.id);
  state.leases.set(job, { ...held, end: state.sides.now() + held.leaseMs });
  await agree(state, { kind: 'readRow', job });
}

/** Makes the call on both sides. Their answer, with ETags as numbers. */
async function agree(state: State, call: Asked): Promise<unknown> {
  const { memory, other } = await ask(state, call);
  state.trace.push(`${JSON.stringify(call)}\n    → ${JSON.stringify(memory)}`);
  if (!isDeepStrictEqual(memory, other)) {
    throw disagreement(state, `the other store answers ${JSON.stringify(other)}`);
  }
  learn(state, call, memory);
  return memory;
}

function disagreement({ trace }: State, what: string): Error {
  return new Error([...trace, what].join('\n'));
}

async function ask(state: State, call: Asked): Promise<Both<unknown>> {
  const answerOf = async (which: Which): Promise<unknown> => {
    try {
      return plain(await make(state, which, call), state.etags[which]);
    } catch (error) {
      if (error instanceof Error && 'code' in error) return { error: error.code };
      throw error;
    }
  };
  const [memory, other] = await Promise.all([answerOf('memory'), answerOf('other')]);
  return { memory, other };
}

async function make(state: State, which: Which, call: Asked): Promise<unknown> {
  const { store, breakOutside } = state.sides[which];
  const etagOf = (seen: Seen): ETag => {
    const known = state.history.get(thingOf(call)) ?? [];
    const number = seen === 'never seen' ? undefined : known.at(-1 - seen);
    return (number === undefined ? undefined : state.etags[which][number]) ?? ('"0x0"' as ETag);
  };
  switch (call.kind) {
    case 'createRow':
      return store.createRow(call.job, call.metadata);
    case 'acquire':
      return store.acquire(call.job, { ...call, ifMatch: etagOf(call.ifMatch) });
    case 'renew':
      return store.renew(call.job, call.leaseId);
    case 'release':
      return store.release(call.job, call.leaseId);
    case 'giveBack':
      return store.release(call.job, call.leaseId, { ifMatch: etagOf(call.ifMatch) });
    case 'writeRow':
      return store.writeRow(call.job, call.metadata, { ...call, ifMatch: etagOf(call.ifMatch) });
    case 'breakLease':
      return store.breakLease?.(call.job, etagOf(call.ifMatch));
    case 'breakOutside':
      return breakOutside(call.job, call.periodMs);
    case 'readRow':
      return store.readRow(call.job);
    case 'list':
      return store.list(call.job && { job: call.job });
    case 'readControl':
      return store.readControl(call.job);
    case 'writeControl':
      return store.writeControl(call.job, call.metadata, call.ifMatch === 'absent' ? undefined : etagOf(call.ifMatch));
    case 'removeControl':
      return store.removeControl(call.job, etagOf(call.ifMatch));
    case 'writePresence': {
      const { deployment, metadata, ifMatch } = call;
      return store.writePresence(deployment, metadata, ifMatch === 'any' ? undefined : etagOf(ifMatch));
    }
    case 'listPresences':
      return store.listPresences();
    case 'createRecord':
      return store.createRecord(call.job, call.key, call.record);
    case 'replaceRecord':
      return store.replaceRecord(call.job, call.key, call.record, etagOf(call.ifMatch));
    case 'readRecord':
      return store.readRecord(call.job, call.key);
    case 'listRecords': {
      const { job, prefix, limit } = call;
      return page(
        state,
        which,
        call,
        await store.listRecords(job, { prefix, limit, ...continuationOf(state, which, call) }),
      );
    }
    case 'createLog':
      return store.createLog(call.job, call.key, call.log);
    case 'appendLog': {
      const at = Math.max(0, lengthOf(state, call) + call.at);
      return store.appendLog(call.job, call.key, call.log, { text: call.text, at });
    }
    case 'readLog': {
      const { at, limit } = call;
      const from = typeof at === 'string' ? 0 : Math.max(0, lengthOf(state, call) + at);
      return store.readLog(call.job, call.key, call.log, { from, limit });
    }
    case 'listLogs': {
      const { job, key, limit } = call;
      return page(state, which, call, await store.listLogs(job, key, { limit, ...continuationOf(state, which, call) }));
    }
    case 'writeAudit': {
      const { key, metadata, ifMatch } = call;
      return store.writeAudit(key, metadata, ifMatch === 'absent' ? undefined : etagOf(ifMatch));
    }
    case 'listAudits':
      return page(
        state,
        which,
        call,
        await store.listAudits({ limit: call.limit, ...continuationOf(state, which, call) }),
      );
    case 'readGroup':
      return store.readGroup(call.group);
    case 'writeGroup': {
      const { group, body, ifMatch } = call;
      return store.writeGroup(group, body, ifMatch === 'absent' ? undefined : etagOf(ifMatch));
    }
    case 'createNotice':
      return store.createNotice(call.key, { body: call.key, metadata: call.metadata });
    case 'readNotice':
      return store.readNotice(call.key);
    case 'writeNotice':
      return store.writeNotice(call.key, call.metadata, etagOf(call.ifMatch));
    case 'deleteNotice':
      return store.deleteNotice(call.key);
    case 'listNotices':
      return page(
        state,
        which,
        call,
        await store.listNotices({ limit: call.limit, ...continuationOf(state, which, call) }),
      );
    case 'createPiece':
      return store.createPiece(call.job, call.key, call.piece, call.record);
    case 'readPiece':
      return store.readPiece(call.job, call.key, call.piece);
    case 'touchPiece':
      return store.touchPiece(call.job, call.key, call.piece, {});
    case 'deletePiece':
      return store.deletePiece(call.job, call.key, call.piece);
    case 'listPieces': {
      const { job, key, limit } = call;
      const request = { ...(key !== undefined && { key }), limit, ...continuationOf(state, which, call) };
      return page(state, which, call, await store.listPieces(job, request));
    }
  }
}

function lengthOf({ lengths }: State, call: Extract<Asked, { kind: 'appendLog' | 'readLog' }>): number {
  return lengths.get(thingOf(call)) ?? 0;
}

type Paged = Extract<Asked, { kind: 'listRecords' | 'listLogs' | 'listPieces' | 'listAudits' | 'listNotices' }>;

function continuationOf(state: State, which: Which, call: Paged): { continuation?: string } {
  const last = call.from === 'start' ? undefined : state.continuations[which].get(pagesOf(call));
  return last === undefined ? {} : { continuation: last };
}

/** A continuation continues the listing that it came from. The logs of each run have a separate listing. */
function pagesOf(call: Paged): string {
  if (call.kind === 'listAudits' || call.kind === 'listNotices') return call.kind;
  return `${call.kind} ${call.job}${call.kind === 'listLogs' ? ` ${call.key}` : ''}`;
}

/** Continuations themselves are each store's own business. */
function page(
  state: State,
  which: Which,
  call: Paged,
  { continuation, ...found }: { readonly continuation: string | undefined },
): object {
  state.continuations[which].set(pagesOf(call), continuation);
  return { ...found, more: continuation !== undefined };
}

/** Which blob a call writes or reads. */
function thingOf(call: Asked): string {
  switch (call.kind) {
    case 'readControl':
    case 'writeControl':
    case 'removeControl':
      return `control of ${call.job}`;
    case 'createRecord':
    case 'replaceRecord':
    case 'readRecord':
      return `record ${call.key} of ${call.job}`;
    case 'createLog':
    case 'appendLog':
    case 'readLog':
      return `log ${call.key}/${call.log} of ${call.job}`;
    case 'createNotice':
    case 'readNotice':
    case 'writeNotice':
      return `notice ${call.key}`;
    case 'readGroup':
    case 'writeGroup':
      return `group ${call.group}`;
    case 'writeAudit':
      return `audit ${call.key}`;
    case 'writePresence':
      return `presence of ${call.deployment}`;
    default:
      return 'job' in call ? `row of ${String(call.job)}` : call.kind;
  }
}

/** An answer that can be compared: maps as objects, ETags as numbers in order of their first sight. */
function plain(answer: unknown, etags: ETag[]): unknown {
  if (Array.isArray(answer)) return answer.map((member: unknown) => plain(member, etags));
  if (answer instanceof Map) return plain(Object.fromEntries(answer), etags);
  if (typeof answer !== 'object' || answer === null) return answer;
  const members = Object.entries(answer).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    members.map(([name, member]: [string, unknown]) => {
      if (name === 'etag') return [name, numberOf(member as ETag, etags)];
      if (name === 'metadata' || name === 'summary') return [name, { ...(member as object) }];
      return [name, plain(member, etags)];
    }),
  );
}

function numberOf(etag: ETag, etags: ETag[]): number {
  const known = etags.indexOf(etag);
  return known < 0 ? etags.push(etag) - 1 : known;
}

/** What an answer says of ETags and leases, for the calls that follow. */
function learn(state: State, call: Asked, answer: unknown): void {
  const etag = etagIn(answer);
  if (etag !== undefined) {
    const known = state.history.get(thingOf(call)) ?? [];
    if (!known.includes(etag)) state.history.set(thingOf(call), [...known, etag]);
  }
  if (call.kind === 'appendLog' && answer === 'appended') {
    state.lengths.set(thingOf(call), Math.max(0, lengthOf(state, call) + call.at) + call.text.length);
  }
  const now = state.sides.now();
  if (call.kind === 'acquire' && isObject(answer) && answer['kind'] === 'acquired') {
    const leaseMs = Math.ceil(call.leaseMs / 1000) * 1000;
    state.leases.set(call.job, { id: call.leaseId, leaseMs, end: now + leaseMs });
  }
  const held = call.kind === 'renew' && answer === 'renewed' ? state.leases.get(call.job) : undefined;
  if (held !== undefined && call.kind === 'renew') state.leases.set(call.job, { ...held, end: now + held.leaseMs });
}

function etagIn(answer: unknown): number | undefined {
  if (!isObject(answer)) return undefined;
  const etag = answer['etag'];
  return typeof etag === 'number' ? etag : etagIn(answer['control']);
}
