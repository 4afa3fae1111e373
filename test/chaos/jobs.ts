import { FILLED } from './backfills';
import { GROUP, GROUP_JOBS, PLACES } from './groups';
import { TOLD } from './notices';
import type { Scenario } from './scenario';
import { POLLED, STEPS } from './waiting';

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
  const once = { schedule: longJob.schedule, lease };
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
    ...(load === 'told' ? { [TOLD]: toldJob(lease) } : {}),
    ...(load === 'filled' ? { [FILLED]: filledJob(lease) } : {}),
    ...(load === 'grouped' ? groupJobs(lease) : {}),
    ...(load === 'orchestrated' ? { [STEPS]: { ...once, handler: STEPS } } : {}),
    ...(load === 'polled' ? { [POLLED]: { ...once, call: { url: '%CHAOS_TARGET%/start', method: 'POST' } } } : {}),
    ...several('busy', load === 'busy' || load === 'all' ? 5 : 0, {
      schedule: '@every 1s',
      handler: 'work',
      lease,
      input: { ms: 100 },
    }),
  };
}

/** Few enough notices that none waits for a digest. */
function toldJob(lease: string): object {
  return {
    schedule: '@every 15s',
    handler: 'alternates',
    lease,
    input: { everyMs: 15_000 },
    retry: { attempts: 1 },
    notify: { to: ['ops'] },
  };
}

/** Due now and then while it is back-filled: due times go first. */
function filledJob(lease: string): object {
  return {
    schedule: '@every 10s',
    handler: 'work',
    lease,
    input: { ms: 400 },
    retry: { attempts: 5, backoff: '1s', jitter: 'none' },
  };
}

/** The group of the jobs file, if the scenario has one. */
export function groupsOf({ load }: Scenario): Readonly<Record<string, object>> | undefined {
  return load === 'grouped' ? { [GROUP]: { maxParallel: PLACES } } : undefined;
}

/** Together they are due more often than there are places, and one place is enough for all of them. */
function groupJobs(lease: string): Record<string, object> {
  const input = { ms: 1_000, laterMs: 1_000 };
  const job = { schedule: '@every 10s', handler: 'long', lease, group: GROUP, input };
  return Object.fromEntries(GROUP_JOBS.map((name) => [name, job]));
}

function several(name: string, count: number, job: object): Record<string, object> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}-${String(index + 1)}`, job]));
}
