import { appendFileSync } from 'node:fs';
import type { ItemContext, JobContext } from '../../../../src/index';
import { defineFanOut, defineJob, NonRetryableError } from '../../../../src/runner/index';

/** The notes of handlers, one JSON object a line, in a file to which all instances append. */
function note(what: string, context: JobContext): void {
  const { job, scheduledFor, attempt, trigger, fence } = context;
  const line = {
    what,
    job,
    scheduledFor: scheduledFor.getTime(),
    attempt,
    trigger,
    token: fence.token,
    pid: process.pid,
    at: Date.now(),
    traceparent: context.traceparent,
  };
  appendFileSync(process.env['NOTES'] ?? '', `${JSON.stringify(line)}\n`);
}

function noteItem(what: string, { job, index, attempt, fence, traceparent }: ItemContext): void {
  const line = { what, job, index, attempt, token: fence.token, pid: process.pid, at: Date.now(), traceparent };
  appendFileSync(process.env['NOTES'] ?? '', `${JSON.stringify(line)}\n`);
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}

/** Handlers whose actions come from the job's input. */
export const handlers = {
  mark: defineJob({ run: (context) => note('ran', context) }),
  slow: defineJob<{ ms: number }>({
    run: async (context, { ms }) => {
      note('started', context);
      // A later attempt has nothing to wait for.
      await wait(context.attempt === 1 ? ms : 500, context.signal);
      note('ended', context);
    },
  }),
  talk: defineJob<{ ms: number }>({
    run: async (context, { ms }) => {
      note('started', context);
      const { log, progress, attempt, signal } = context;
      const steps = attempt === 1 ? ms / 250 : 4;
      for (let step = 1; step <= steps; step += 1) {
        log(`step ${String(step)} of attempt ${String(attempt)}`);
        progress(`step ${String(step)}`, step / steps);
        await wait(250, signal);
      }
      log.warn('done');
    },
  }),
  block: defineJob<{ ms: number }>({
    run: (context, { ms }) => {
      note('started', context);
      if (context.attempt > 1) return 'not blocked';
      context.signal.addEventListener('abort', () => note('aborted', context));
      const until = performance.now() + ms;
      while (performance.now() < until);
      try {
        context.fence.check();
        note('trusted', context);
      } catch {
        note('refused', context);
      }
      return 'blocked';
    },
  }),
  copyTable: defineJob<{ table: string }>({
    run: ({ log }, { table }) => {
      log(`copying ${table}`);
      if (table === 'orders') throw new TypeError(`the table "${table}" is read-only`);
      return { copied: table };
    },
  }),
  throwText: defineJob({
    run: () => {
      throw 'only text'; // oxlint-disable-line no-throw-literal -- what a careless handler does
    },
  }),
  giveUp: defineJob({
    run: () => {
      throw new NonRetryableError('it is of no use');
    },
  }),
  circular: defineJob({
    run: () => {
      const value: Record<string, unknown> = {};
      value['self'] = value;
      return value;
    },
  }),
  huge: defineJob({ run: () => 'x'.repeat(33 * 1024) }),
  wide: squares('6s'),
  vast: squares('10m'),
  never: defineJob({ run: () => new Promise(() => undefined) }),
};

/** Squares numbers, one item each. */
function squares(deadline: string) {
  return defineFanOut<{ count: number; ms: number }, number, number>({
    concurrency: 2,
    deadline,
    plan: (context, { count }) => {
      note('planned', context);
      return Array.from({ length: count }, (_, index) => index);
    },
    each: async (context, item, { ms }) => {
      noteItem('item', context);
      await wait(ms, context.signal);
      return item * item;
    },
    gather: (context, outcomes) => {
      note('gathered', context);
      return outcomes.map((outcome) => (outcome.state === 'succeeded' ? outcome.result : null));
    },
  });
}
