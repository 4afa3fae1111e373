import { parseExactly } from '../core/inexact';
import { isObject } from '../core/metadata';
import type { Millis } from '../core/brand';
import { ASKED_AT_MOST_MS } from '../core/run';
import { CallError } from '../handler/handlers';
import { type Answer, retryAfterOf } from '../notices/request';

/** The largest body of an answer that is read: the ledger keeps no more. */
export const ANSWER_BYTES = 32 * 1024;
/** How much of a body an error has. */
const SHOWN = 8 * 1024;

/** The statuses by which a target says that another try may succeed. */
function isBusy(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

export function waitOf({ headers }: Pick<Answer, 'headers'>): Millis | undefined {
  const wait = retryAfterOf(headers['retry-after'], headers.date);
  return wait === undefined ? undefined : Math.min(wait, ASKED_AT_MOST_MS);
}

/**
 * Checks the answer to a call.
 *
 * @param hide hides the app's settings
 * @throws CallError unless it is a success
 */
export function checkAnswer(
  answer: Answer,
  expect: readonly number[] | undefined,
  hide: (text: string) => string,
): void {
  const { status, text } = answer;
  const isExpected = expect === undefined ? status >= 200 && status < 300 : expect.includes(status);
  if (isExpected) return;
  const body = text.trim() === '' ? '' : `: ${hide(text.trim()).slice(0, SHOWN)}`;
  if (status >= 300 && status < 400) {
    throw new CallError('CallRedirected', `it answered ${String(status)}, and a redirect is not followed`, false);
  }
  const message = `it answered ${String(status)}${body}`;
  if (isBusy(status)) throw new CallError('CallBusy', message, true, waitOf(answer));
  throw new CallError('CallRefused', message, false);
}

/**
 * The JSON of an answer, with large integers as texts; undefined: it has none, and is not said to have any.
 *
 * @throws CallError if the ledger cannot hold the answer, or it is not the JSON that it claims to be
 */
export function resultOf({ headers, text, isCut }: Answer): unknown {
  if (isCut) {
    const limit = String(ANSWER_BYTES / 1024);
    throw new CallError('CallTooLarge', `it answered with more than ${limit} KB: let it answer with less`, false);
  }
  if (text.trim() === '' || !/^[^;]*[/+]json\b/i.test(headers['content-type'] ?? '')) return undefined;
  try {
    return parseExactly(text);
  } catch {
    throw new CallError('CallGarbled', 'it answered with application/json, and its body is not JSON', false);
  }
}

/** An operation that a call has started, and the address of its state. */
export interface Operation {
  /**
   * By what its state is read. `durable`: `runtimeStatus`. `status`: the `status` of Azure's long-running operations.
   * `location`: only the status of the answer.
   */
  readonly kind: 'durable' | 'status' | 'location';
  readonly address: string;
  /** Where Durable ends it, with `{text}` for the reason. */
  readonly terminate?: string | undefined;
}

type Look =
  | {
      readonly kind: 'going';
      readonly operation: Operation;
      readonly waitMs: Millis | undefined;
      /** The state in its own words. */
      readonly state: string | undefined;
      readonly fraction: number | undefined;
    }
  | { readonly kind: 'done'; readonly result: unknown };

/** The operation that an answer of 202 names; undefined: none. */
export function operationOf(answer: Answer, asked: URL): Operation | undefined {
  if (answer.status !== 202) return undefined;
  const { headers } = answer;
  const body = membersOf(answer);
  const durable = absolute(body['statusQueryGetUri'], asked);
  if (durable !== undefined) {
    return { kind: 'durable', address: durable, terminate: absolute(body['terminatePostUri'], asked) };
  }
  const status = absolute(headers['azure-asyncoperation'] ?? headers['operation-location'], asked);
  if (status !== undefined) return { kind: 'status', address: status };
  const location = absolute(headers.location, asked);
  return location === undefined ? undefined : { kind: 'location', address: location };
}

/**
 * Reads the answer of an operation's address.
 *
 * @throws CallError if the operation has ended without success, or its state cannot be known
 */
export function lookAt(operation: Operation, answer: Answer, hide: (text: string) => string): Look {
  const body = membersOf(answer);
  const going = goingBy(answer, body, hide);
  const { runtimeStatus } = body;
  if (typeof runtimeStatus === 'string') {
    return byState({ ...operation, kind: 'durable' }, runtimeStatus, { body, hide, going });
  }
  if (isBusy(answer.status)) return going(operation, undefined);
  if (answer.status === 202) {
    const moved =
      operation.kind === 'location' ? absolute(answer.headers.location, new URL(operation.address)) : undefined;
    return going(moved === undefined ? operation : { ...operation, address: moved }, stateIn(body));
  }
  checkAnswer(answer, undefined, hide);
  if (operation.kind === 'location') return { kind: 'done', result: resultOf(answer) };
  const state = operation.kind === 'status' ? stateIn(body) : undefined;
  if (state !== undefined) return byState(operation, state, { body, hide, going });
  resultOf(answer);
  throw new CallError('CallGarbled', 'its operation answered without its state', false);
}

type Members = Readonly<Record<string, unknown>>;
type Going = (operation: Operation, state: string | undefined) => Look;

function byState(
  operation: Operation,
  state: string,
  { body, hide, going }: { readonly body: Members; readonly hide: (text: string) => string; readonly going: Going },
): Look {
  switch (state.toLowerCase()) {
    case 'succeeded':
      return { kind: 'done', result: body };
    case 'completed':
      return { kind: 'done', result: operation.kind === 'durable' ? (body['output'] ?? undefined) : body };
    case 'failed':
      throw new CallError('CallFailed', `its operation failed${reasonIn(body, hide)}`, true);
    case 'canceled':
    case 'cancelled':
    case 'terminated':
      throw new CallError('CallCanceled', `its operation was ended: ${hide(state)}${reasonIn(body, hide)}`, false);
    default:
      return going(operation, state);
  }
}

/** What an answer says of an operation that goes on. */
function goingBy(answer: Answer, { percentComplete: percent }: Members, hide: (text: string) => string): Going {
  const fraction = typeof percent === 'number' && percent >= 0 && percent <= 100 ? percent / 100 : undefined;
  return (operation, state) => ({
    kind: 'going',
    operation,
    waitMs: waitOf(answer),
    // A secret that is cut would not be found.
    state: state === undefined ? undefined : hide(state).slice(0, 50),
    fraction,
  });
}

function stateIn({ status }: Members): string | undefined {
  return typeof status === 'string' ? status : undefined;
}

function reasonIn({ error, output }: Members, hide: (text: string) => string): string {
  const reason = error ?? output;
  if (reason === undefined || reason === null) return '';
  return `: ${hide(typeof reason === 'string' ? reason : JSON.stringify(reason)).slice(0, SHOWN)}`;
}

/** The members of a body of JSON; none if it is not one. */
function membersOf({ text, isCut }: Answer): Members {
  if (isCut || !text.trimStart().startsWith('{')) return {};
  try {
    const value = parseExactly(text);
    return isObject(value) ? value : {};
  } catch {
    // An answer that has to be JSON is refused where its result is read.
    return {};
  }
}

function absolute(address: unknown, asked: URL): string | undefined {
  const text: unknown = Array.isArray(address) ? address[0] : address;
  if (typeof text !== 'string' || text === '') return undefined;
  return URL.parse(text, asked.href)?.href;
}

export function storeOperation(operation: Operation): string {
  return JSON.stringify(operation);
}

/** Undefined: the text is none that {@link storeOperation} made. */
export function parseOperation(text: string): Operation | undefined {
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) return undefined;
  const { kind, address, terminate } = value;
  if (kind !== 'durable' && kind !== 'status' && kind !== 'location') return undefined;
  if (typeof address !== 'string' || !URL.canParse(address)) return undefined;
  return { kind, address, ...(typeof terminate === 'string' && { terminate }) };
}
