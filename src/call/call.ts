import { spelledFinder, redactJson, mask, type Redact } from '../core/redact';
import type { Millis } from '../core/brand';
import {
  type CallSpec,
  CallTemplateError,
  type FilledCall,
  LONGEST_POLL_WAIT_MS,
  type ReadSetting,
  type RequestOutcome,
  fillCall,
  hostText,
  placesIn,
  textsOf,
} from '../core/call';
import { type Clock, sleep } from '../core/clock';
import { CallError, type Kept } from '../handler/handlers';
import { AttemptAbortedError, type JobContext } from '../handler/handler';
import { ForbiddenAddressError, type Guard, checkAddress, hostOf } from '../notices/guard';
import { type Answer, type Asked, NoAddressError, codeOf } from '../notices/request';
import {
  ANSWER_BYTES,
  checkAnswer,
  resultOf,
  waitOf,
  type Operation,
  lookAt,
  operationOf,
  parseOperation,
  storeOperation,
} from './answer';

const FIRST_WAIT_MS: Millis = 10_000;
const SHORTEST_WAIT_MS: Millis = 1_000;
/** How long the request that ends an operation may take. The grace of the job may end it sooner. */
const CANCEL_LIMIT_MS: Millis = 10_000;

/** Sends one request. Throws `ForbiddenAddressError`, or an error of the network. */
export type Send = (
  asked: Asked,
  limits: { readonly signal: AbortSignal; readonly mostBytes: number },
) => Promise<Answer>;

export interface CallMeans {
  readonly clock: Clock;
  readonly guard: Guard;
  readonly readSetting: ReadSetting;
  readonly send: Send;
  readonly tokenFor: (audience: string) => Promise<string>;
  readonly onOutcome?: ((outcome: RequestOutcome) => void) | undefined;
}

type HeaderFields = Readonly<Record<string, string>>;

interface Given {
  readonly means: CallMeans;
  readonly context: JobContext;
  readonly kept: Kept;
}

interface Calling extends Given {
  readonly call: CallSpec;
  readonly filled: FilledCall;
  /** Those of the run, for each request. */
  readonly headers: HeaderFields;
  /** Those that only the host of the call may have. An operation may outlast a token, so each request asks for it. */
  readonly own: () => Promise<HeaderFields>;
  readonly hide: (text: string) => string;
}

/**
 * Makes the request of a job, and waits for the end of the operation that it may start. An attempt that finds an
 * operation of an earlier one waits for that, and does not call again.
 *
 * @returns the JSON of the answer
 * @throws CallError
 */
export async function runCall(
  { call, timeZone }: { readonly call: CallSpec; readonly timeZone: string },
  { input, ...given }: Given & { readonly input: unknown },
): Promise<unknown> {
  const { means, context } = given;
  const filled = fill(call, timeZone, input, given);
  const secrets = new Set(secretsOf(call, filled, means.readSetting));
  let redact = hiding(secrets);
  const own = async (): Promise<HeaderFields> => {
    if (filled.audience === undefined) return filled.headers;
    const token = await tokenFor(means, filled.audience);
    if (!secrets.has(token)) redact = hiding(secrets.add(token));
    return { ...filled.headers, authorization: `Bearer ${token}` };
  };
  const hide = (text: string): string => redact([text], Infinity).join('');
  const calling: Calling = { ...given, call, filled, headers: runHeaders(context, means.clock), own, hide };
  try {
    const result = await callOrContinue(calling);
    return redactJson(result, redact);
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    throw new CallError(error.code, calling.hide(error.message), error.retryable, error.retryAfterMs);
  }
}

function fill(call: CallSpec, timeZone: string, input: unknown, { means, context }: Given): FilledCall {
  const { runId, attempt, fence } = context;
  const values = { scheduledFor: context.scheduledFor.getTime(), timeZone, runId, attempt, token: fence.token, input };
  try {
    return fillCall(call, values, means.readSetting);
  } catch (error) {
    if (!(error instanceof CallTemplateError)) throw error;
    throw new CallError(error.code, error.message, false);
  }
}

async function tokenFor({ tokenFor: get }: CallMeans, audience: string): Promise<string> {
  try {
    return await get(audience);
  } catch (error) {
    const name = error instanceof Error ? error.name : 'unknown error';
    throw new CallError('CallIdentity', `the app's identity got no token for the audience of the call: ${name}`, true);
  }
}

/** The values of settings, and the host where one of them has it: an error names the host. */
function secretsOf(call: CallSpec, { address }: FilledCall, readSetting: ReadSetting): readonly string[] {
  const settings = textsOf(call).flatMap(({ text }) => placesIn(text).settings);
  const host = placesIn(hostText(call.url)).settings.length === 0 ? [] : [hostOf(address)];
  return [...settings.flatMap((name) => readSetting(name) ?? []), ...host];
}

function runHeaders(context: JobContext, clock: Clock): HeaderFields {
  const { job, runId, attempt, fence, scheduledFor, traceparent } = context;
  return {
    'user-agent': 'cronlease',
    date: new Date(clock.now()).toUTCString(),
    ...(traceparent !== undefined && { traceparent }),
    'x-cronlease-job': job,
    'x-cronlease-run': runId,
    'x-cronlease-attempt': String(attempt),
    'x-cronlease-token': String(fence.token),
    'x-cronlease-scheduled-for': scheduledFor.toISOString(),
  };
}

async function callOrContinue(calling: Calling): Promise<unknown> {
  const { context, kept, filled, call } = calling;
  // The first attempt of a run has none before it.
  const text = context.attempt === 1 ? undefined : await kept.read();
  const earlier = text === undefined ? undefined : parseOperation(text);
  if (earlier !== undefined) {
    context.log.info('an earlier attempt has made the call: its operation is polled');
    return follow(calling, earlier, 0, true);
  }
  const headers = await firstHeaders(calling);
  if (context.signal.aborted) throw context.signal.reason;
  // This process may have stood still while it read what is kept, or got its token.
  context.fence.check();
  const answer = await ask(calling, {
    address: filled.address,
    method: call.method,
    headers,
    body: filled.body ?? (call.method === 'GET' || call.method === 'HEAD' || call.method === 'DELETE' ? undefined : ''),
  });
  checkAnswer(answer, call.expect, calling.hide);
  const operation = operationOf(answer, filled.address);
  if (operation === undefined) return resultOf(answer);
  checkPolled(calling, operation);
  return follow(calling, operation, waitOf(answer), await keep(calling, operation));
}

async function firstHeaders({ headers, own, filled, context }: Calling): Promise<HeaderFields> {
  const type = filled.isJson ? 'application/json' : 'text/plain; charset=utf-8';
  return merged(
    { accept: 'application/json, */*;q=0.5', ...(filled.body !== undefined && { 'content-type': type }), ...headers },
    await own(),
    { 'idempotency-key': context.runId },
  );
}

/** Names in small letters, so that one replaces another. */
function merged(...parts: readonly HeaderFields[]): HeaderFields {
  return Object.fromEntries(
    parts.flatMap((part) => Object.entries(part).map(([name, value]) => [name.toLowerCase(), value])),
  );
}

/** @throws CallError if there was no answer */
async function ask(calling: Calling, asked: Asked): Promise<Answer> {
  const { context } = calling;
  try {
    return await send(calling, asked, context.signal);
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason;
    throw unanswered(error, hostOf(asked.address));
  }
}

async function send({ means, hide }: Calling, asked: Asked, signal: AbortSignal): Promise<Answer> {
  const { address, method } = asked;
  const { clock, onOutcome } = means;
  const from = clock.monotonic();
  const tell = (status: number | undefined, error: string | undefined): void => {
    const port = address.port === '' ? (address.protocol === 'http:' ? 80 : 443) : Number(address.port);
    onOutcome?.({ method, host: hide(hostOf(address)), port, status, error, ms: clock.monotonic() - from });
  };
  try {
    const answer = await means.send(asked, { signal, mostBytes: ANSWER_BYTES });
    tell(answer.status, answer.status >= 400 ? String(answer.status) : undefined);
    return answer;
  } catch (error) {
    const reason: unknown = signal.reason;
    tell(undefined, reason instanceof AttemptAbortedError ? reason.code : codeOf(error));
    throw error;
  }
}

function unanswered(error: unknown, host: string): CallError {
  if (error instanceof ForbiddenAddressError) return new CallError('CallForbidden', error.message, false);
  if (error instanceof NoAddressError) return new CallError('CallUnanswered', error.message, true);
  const code = codeOf(error);
  if (code.startsWith('HPE_'))
    return new CallError('CallGarbled', `host "${host}" answered what is not HTTP: ${code}`, false);
  return new CallError('CallUnanswered', `host "${host}" gave no answer: ${code}`, true);
}

function checkPolled({ means: { guard } }: Calling, { address }: Operation): void {
  try {
    checkAddress(new URL(address), guard);
  } catch (error) {
    if (!(error instanceof ForbiddenAddressError)) throw error;
    const message = `it answered 202 with an address that must not be polled: ${error.message}`;
    throw new CallError('CallPollForbidden', message, false);
  }
}

/** Whether the operation is kept. It is polled in any case, and kept with the next look. */
async function keep({ kept, context }: Calling, operation: Operation): Promise<boolean> {
  try {
    await kept.keep(storeOperation(operation));
    return true;
  } catch (error) {
    context.log.warn('the address of the operation could not be kept for a take-over:', error);
    return false;
  }
}

async function follow(
  calling: Calling,
  first: Operation,
  firstWait: Millis | undefined,
  firstKept: boolean,
): Promise<unknown> {
  const { means, context } = calling;
  let operation = first;
  let isKept = firstKept;
  let usual = FIRST_WAIT_MS;
  let wait = firstWait ?? usual;
  try {
    for (;;) {
      await sleep(means.clock, wait, context.signal);
      if (context.signal.aborted) throw context.signal.reason;
      if (!isKept) isKept = await keep(calling, operation);
      const answer = await poll(calling, operation);
      const look = answer === undefined ? undefined : lookAt(operation, answer, calling.hide);
      if (look?.kind === 'done') return look.result;
      if (look !== undefined) {
        isKept &&= look.operation.address === operation.address;
        operation = look.operation;
      }
      const note = `the operation is at work${look?.state === undefined ? '' : `: ${look.state}`}`;
      context.progress(calling.hide(note), look?.fraction);
      usual = Math.min(LONGEST_POLL_WAIT_MS, usual * 1.5);
      wait = Math.max(SHORTEST_WAIT_MS, look?.waitMs ?? usual);
    }
  } catch (error) {
    if (context.signal.aborted) await abandon(calling, operation);
    // The next attempt must call again. If this is not stored, it sees the same end of the operation.
    else if (error instanceof CallError && error.retryable) await calling.kept.keep('');
    throw error;
  }
}

/** Undefined: no answer came, which ends nothing. */
async function poll(calling: Calling, operation: Operation): Promise<Answer | undefined> {
  const address = new URL(operation.address);
  try {
    const headers = merged({ accept: 'application/json, */*;q=0.5' }, await headersFor(calling, address));
    return await ask(calling, { address, method: 'GET', headers, body: undefined });
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    if (error.code === 'CallForbidden') throw new CallError('CallPollForbidden', error.message, false);
    if (!error.retryable) throw error;
    calling.context.log.warn(`the operation gave no answer: ${calling.hide(error.message)}`);
    return undefined;
  }
}

/** Another host gets no key and no token of the call. */
async function headersFor({ filled, headers, own }: Calling, address: URL): Promise<HeaderFields> {
  return address.origin === filled.address.origin ? merged(headers, withoutContent(await own())) : headers;
}

function withoutContent(headers: HeaderFields): HeaderFields {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !/^content-/i.test(name)));
}

/** Ends the operation, if its run was ended. After a shutdown, or with another holder, it goes on. */
async function abandon(calling: Calling, operation: Operation): Promise<void> {
  const { context, means, kept } = calling;
  const reason: unknown = context.signal.reason;
  const code = reason instanceof AttemptAbortedError ? reason.code : undefined;
  if (code !== 'cancelled' && code !== 'timedOut' && code !== 'stalled') return;
  const stop = new AbortController();
  const disarm = means.clock.after(CANCEL_LIMIT_MS, () => stop.abort());
  try {
    // After the grace of the job, or its lease, a successor may poll it.
    context.fence.check();
    // What is kept goes first: the next attempt must call again, whatever the answer is.
    await kept.keep('');
    const request = await endOf(calling, operation, code);
    if (request === undefined) return;
    context.fence.check();
    const { status } = await send(calling, request, stop.signal);
    context.log.info(`the operation was asked to end: it answered ${String(status)}`);
  } catch (error) {
    const why = error instanceof ForbiddenAddressError ? error.message : codeOf(error);
    context.log.warn(`the operation could not be ended: ${why}`);
  } finally {
    disarm();
  }
}

/** Durable would delete its history on DELETE, so it is ended where its answer has said. */
async function endOf(calling: Calling, operation: Operation, code: string): Promise<Asked | undefined> {
  const isDurable = operation.kind === 'durable';
  const text = encodeURIComponent(`cronlease: ${code}`);
  const url = isDurable ? operation.terminate?.replace(/\{text\}|%7Btext%7D/i, text) : operation.address;
  if (url === undefined) return undefined;
  const address = new URL(url);
  const headers = await headersFor(calling, address);
  return { address, headers, ...(isDurable ? { method: 'POST', body: '' } : { method: 'DELETE', body: undefined }) };
}

/** A shorter value is in most texts, and is not a secret. */
const SHORTEST = 4;

/** Hides these values, as they are and in base64, however JSON, an address or HTML writes them. */
export function hiding(values: Iterable<string>): Redact {
  const secrets = [...values]
    .filter((value) => value.length >= SHORTEST)
    .flatMap((value) => {
      const bytes = Buffer.from(value);
      return [value, bytes.toString('base64'), bytes.toString('base64url')];
    });
  const finders = [...new Set(secrets)].map((secret) => spelledFinder(secret));
  return (texts, most) =>
    texts.map((text) =>
      mask(
        text,
        finders.flatMap((find) => find(text)),
        most,
      ),
    );
}
