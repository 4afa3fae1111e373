import type { Scenario } from './scenario';

/**
 * The jobs of every scenario: quick ones that are due all the time, one that works for a while, one that needs a
 * retry, and one that takes long.
 *
 * @param longAt - when the long one is due, once
 */
export function jobsOf({ lease = '15s', long, load }: Scenario, longAt: number): Readonly<Record<string, object>> {
  const longJob = {
    schedule: `@at ${new Date(longAt).toISOString()}`,
    handler: 'long',
    lease,
    input: long ?? { ms: 20_000, laterMs: 1_000 },
  };
  if (load === 'quiet') return { long: longJob };
  return {
    ...several('quick', 3, { schedule: '@every 2s', handler: 'quick', lease }),
    steady: { schedule: '@every 5s', handler: 'work', lease, input: { ms: 300 } },
    flaky: {
      schedule: '@every 10s',
      handler: 'flaky',
      lease,
      retry: { attempts: 3, backoff: '2s', factor: 1, jitter: 'none' },
    },
    long: longJob,
    ...several('wide', load === 'all' ? 1 : 0, { schedule: '@every 20s', handler: 'wide', lease }),
    ...several('busy', load === undefined ? 0 : 5, {
      schedule: '@every 1s',
      handler: 'work',
      lease,
      input: { ms: 100 },
    }),
  };
}

function several(name: string, count: number, job: object): Record<string, object> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}-${String(index + 1)}`, job]));
}
