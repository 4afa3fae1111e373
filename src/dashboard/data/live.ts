import { type ReadonlySignal, signal } from '@preact/signals';
import { ApiError, type Failure, read } from './api';

/** The last answer to a path, kept while the page is open: Back shows it at once. */
interface Kept {
  readonly body: unknown;
  readonly etag: string | undefined;
}

export interface Live {
  readonly path: string | undefined;
  /** Undefined: nothing has come yet. */
  readonly body: unknown;
  readonly failure: Failure | undefined;
  /** When the next question is asked after a failure, by this machine's clock. */
  readonly retryAt: number | undefined;
}

const LEAST_MS = 1_000;
const DEFAULT_MS = 10_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;
const ABSENT_MS = 3_000;
const KEPT_PATHS = 30;

const kept = new Map<string, Kept>();
const state = signal<Live>({ path: undefined, body: undefined, failure: undefined, retryAt: undefined });
/** How far the service's clock is ahead of this machine's. */
const ahead = signal(0);

export const live: ReadonlySignal<Live> = state;

let timer: number | undefined;
/** A number for the question that counts: the answer to an older one is dropped. */
let current = 0;
let failures = 0;

/** The service's time now. */
export function serviceNow(): number {
  return Date.now() + ahead.value;
}

/** Follows one path: there is one poll for all that is visible. */
export function follow(path: string): void {
  if (path === state.value.path) return;
  failures = 0;
  state.value = { path, body: kept.get(path)?.body, failure: undefined, retryAt: undefined };
  void ask();
}

/** Asks at once: after a change, or when a person wants it. */
export function refresh(): void {
  void ask();
}

export function watchVisibility(): void {
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      clearTimeout(timer);
      current += 1;
    } else {
      void ask();
    }
  });
  addEventListener('online', refresh);
}

async function ask(): Promise<void> {
  clearTimeout(timer);
  const { path } = state.peek();
  if (path === undefined || document.hidden) return;
  current += 1;
  const mine = current;
  let waitMs: number;
  try {
    const known = kept.get(path);
    const { body, etag, leastPollMs } = await read(path, known?.etag);
    if (mine !== current) return;
    if (body !== undefined) keep(path, { body, etag });
    failures = 0;
    waitMs = Math.max(LEAST_MS, leastPollMs ?? DEFAULT_MS);
    state.value = { path, body: body ?? known?.body, failure: undefined, retryAt: undefined };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (mine !== current) return;
    const isAbsent = error.failure.status === 404;
    // What was just requested comes soon.
    const backOffMs = isAbsent ? ABSENT_MS : Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
    waitMs = backOffMs * (0.75 + Math.random() / 2);
    failures += 1;
    const { body } = state.peek();
    state.value = { path, body, failure: error.failure, retryAt: Date.now() + waitMs };
  }
  timer = setTimeout(() => void ask(), waitMs);
}

function keep(path: string, answer: Kept): void {
  kept.delete(path);
  kept.set(path, answer);
  const [oldest] = kept.keys();
  if (kept.size > KEPT_PATHS && oldest !== undefined) kept.delete(oldest);
  const now =
    typeof answer.body === 'object' && answer.body !== null && 'now' in answer.body ? answer.body.now : undefined;
  if (typeof now === 'string') ahead.value = Date.parse(now) - Date.now();
}
