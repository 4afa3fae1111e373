/** Hands the clock of this process on to its children. */
const BASE = 'TRUE_CLOCK_BASE';
/** The wall clock less the monotonic one, which all processes of a machine share. */
const base = Number((process.env[BASE] ??= String(wallClockBase())));

/**
 * The wall clock, whatever has been done to this process's `Date`. Children have the same, to the microsecond: what one
 * process has sent and another has seen can be put in order. The sum of `performance.timeOrigin` and `performance.now()`
 * is another one in each process, by 5 ms on a busy machine.
 */
export function trueNow(): number {
  return base + monotonic();
}

function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Reads the clock as a millisecond begins. A process that is interrupted between two readings gets less. */
function wallClockBase(): number {
  const samples = Array.from({ length: 5 }, () => {
    const before = Date.now();
    const until = monotonic() + 2;
    while (Date.now() === before && monotonic() < until);
    return Date.now() - monotonic();
  });
  return Math.max(...samples);
}

/** What a scenario waited for did not come about. */
export class DeadlineError extends Error {
  readonly code = 'Deadline';
  override readonly name = 'DeadlineError';
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}

/** Looks again and again until `find` finds something. */
export async function until<T>(
  what: string,
  withinMs: number,
  find: () => T | undefined | Promise<T | undefined>,
  signal?: AbortSignal,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    if (performance.now() > deadline) {
      throw new DeadlineError(`${what} did not come about within ${String(Math.round(withinMs / 1000))} s`);
    }
    await pause(20, signal);
  }
}

/** Resolves with what `work` does, unless it takes too long. */
export async function inTime<T>(what: string, withinMs: number, work: Promise<T>, signal?: AbortSignal): Promise<T> {
  let result: { readonly value: T } | undefined;
  let failure: { readonly error: unknown } | undefined;
  work.then(
    (value) => (result = { value }),
    (error: unknown) => (failure = { error }),
  );
  const found = await until(
    what,
    withinMs,
    () => {
      if (failure !== undefined) throw failure.error;
      return result;
    },
    signal,
  );
  return found.value;
}
