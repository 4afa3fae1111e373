import { computed, signal } from '@preact/signals';
import { type Answered, type Failure, failureIn, read } from './api';

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

/** The last answers, kept while the page is open: Back shows them at once. */
const kept = new Map<string, Answered>();
export const live = signal<Live>({ path: undefined, body: undefined, failure: undefined, retryAt: undefined });

/** The service's time, to the second. It stands still while it is not visible. */
export const now = signal(Date.now());
/** As {@link now}, in steps of 10 s: for pictures of hours. */
export const coarseNow = computed(() => now.value - (now.value % 10_000));
/** How far the service's clock is ahead of this machine's. */
let aheadMs = 0;

let timer: number | undefined;
/** A number for the question that counts: the answer to an older one is dropped. */
let current = 0;
let failures = 0;

/** Follows one path: there is one poll for all that is visible. */
export function follow(path: string): void {
  if (path === live.value.path) return;
  failures = 0;
  live.value = { path, body: kept.get(path)?.body, failure: undefined, retryAt: undefined };
  void ask();
}

/** Asks at once: after a change, or when a person wants it. */
export function refresh(): void {
  void ask();
}

/** Follows the clock, and whether the page is visible. */
export function start(): void {
  const setNow = (): void => {
    if (!document.hidden) now.value = Date.now() + aheadMs;
  };
  setInterval(setNow, 1_000);
  document.addEventListener('visibilitychange', () => {
    setNow();
    clearTimeout(timer);
    current += 1;
    void ask();
  });
  addEventListener('online', refresh);
}

async function ask(): Promise<void> {
  clearTimeout(timer);
  const { path } = live.peek();
  if (path === undefined || document.hidden) return;
  current += 1;
  const mine = current;
  let waitMs: number;
  try {
    const known = kept.get(path);
    const answer = await read(path, known?.etag);
    if (mine !== current) return;
    if (answer.body !== undefined) keep(path, answer);
    failures = 0;
    waitMs = Math.max(LEAST_MS, answer.leastPollMs ?? DEFAULT_MS);
    live.value = { path, body: answer.body ?? known?.body, failure: undefined, retryAt: undefined };
  } catch (error) {
    const failure = failureIn(error);
    if (mine !== current) return;
    // What was just requested comes soon.
    const backOffMs = failure.status === 404 ? ABSENT_MS : Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures);
    waitMs = backOffMs * (0.75 + Math.random() / 2);
    failures += 1;
    const { body } = live.peek();
    live.value = { path, body, failure, retryAt: Date.now() + waitMs };
  }
  timer = setTimeout(() => void ask(), waitMs);
}

function keep(path: string, answer: Answered): void {
  kept.delete(path);
  kept.set(path, answer);
  const [oldest] = kept.keys();
  if (kept.size > KEPT_PATHS && oldest !== undefined) kept.delete(oldest);
  const { now: at } = (answer.body ?? {}) as { readonly now?: unknown };
  if (typeof at === 'string') aheadMs = Date.parse(at) - Date.now();
}
