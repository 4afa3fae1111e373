import { expect, it } from 'vitest';
import { sleep } from '../../src/core/clock';
import type { JobName } from '../../src/core/brand';
import { interceptStore } from '../support/intercept';
import { jobSpec } from '../support/job';
import { type Instance, type RivalTicks, rivalTicks } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const LEASE_MS = 60 * SECOND;
/** The longest lease of a claim, and a tick. */
const AGAIN_WITHIN_MS = 15 * SECOND + 15 * SECOND;
const JOBS = 10;

function jobsOf(schedule: string): ReturnType<typeof jobSpec>[] {
  return Array.from({ length: JOBS }, (_, index) => jobSpec(`job-${String(index)}`, schedule, { leaseMs: LEASE_MS }));
}

/** Kills the deployment that ran a job last. */
function killWorker(sim: RivalTicks): Instance {
  const worker = sim.instances.find(({ deployment }) => deployment === sim.calls.at(-1)?.deployment);
  if (worker === undefined) throw new Error('nothing has run');
  worker.kill();
  return worker;
}

it('jobs of each second run again within 15 s and a tick of the death of their worker', async () => {
  const sim = rivalTicks({
    jobs: jobsOf('* * * * * *'),
    deployments: 2,
    handler: (_, { coordinator }) => sleep(coordinator.clock, 300),
  });
  await sim.clock.advance(32 * SECOND);
  // During the handlers: it holds the lease of every job.
  await sim.clock.advance(100);
  const killedAt = sim.clock.now();
  const dead = killWorker(sim);
  await sim.clock.advance(AGAIN_WITHIN_MS + SECOND);
  const others = sim.calls.filter(({ at, deployment }) => at > killedAt && deployment !== dead.deployment);
  const firstOf = (name: string): number => others.find(({ job }) => job === name)?.at ?? Infinity;
  for (const { name } of jobsOf('* * * * * *')) {
    expect(firstOf(name) - killedAt).toBeLessThanOrEqual(AGAIN_WITHIN_MS);
  }
});

it('a tick that finds several leases of a dead deployment expired takes all of its runs over in that step', async () => {
  const sim = rivalTicks({
    jobs: jobsOf('@hourly'),
    deployments: 2,
    handler: async (_, { coordinator }) => sleep(coordinator.clock, 30 * SECOND),
  });
  await sim.clock.advanceTo(Date.UTC(2026, 0, 1, 1) + 3 * SECOND);
  expect(sim.calls).toHaveLength(JOBS);
  const dead = killWorker(sim);
  const alive = sim.instances.find(({ deployment }) => deployment !== dead.deployment);
  if (alive === undefined) throw new Error('no other deployment');
  const steps: number[] = [];
  let lists = 0;
  interceptStore(alive, 'list', (list) => (...given) => {
    lists += 1;
    return list(...given);
  });
  interceptStore(alive, 'acquire', (acquire) => (...given) => {
    steps.push(lists);
    return acquire(...given);
  });
  await sim.clock.advance(MINUTE);
  const again = sim.calls.filter(({ attempt }) => attempt === 2);
  expect(new Set(again.map(({ job }) => job as JobName)).size).toBe(JOBS);
  expect(again.every(({ trigger }) => trigger === 'takeOver')).toBe(true);
  const due = Date.UTC(2026, 0, 1, 1);
  for (const { at } of again) expect(at - due).toBeLessThanOrEqual(AGAIN_WITHIN_MS);
  // Each acquisition of a take-over follows the same listing.
  expect(new Set(steps.slice(0, JOBS)).size).toBe(1);
  await sim.clock.advance(HOUR);
  expect(await sim.records('job-0')).toHaveLength(2);
});
