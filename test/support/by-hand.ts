import type { ETag, JobName, LeaseId } from '../../src/core/brand';
import { type Row, encodeRow } from '../../src/core/row';
import type { Hub, RunnableJob } from '../../src/coordinator/coordinator';
import type { ListedRow } from '../../src/lease/store';
import type { Instance, RivalTicks } from './rival-ticks';

/** A task hub that accepts orchestrations, and never runs them. */
export const quietHub: Hub = {
  start: async () => undefined,
  status: async () => 'completed',
  purge: async () => 0,
};

/** The instance that the simulation began with. */
export function firstInstance({ instances }: RivalTicks): Instance {
  const [instance] = instances;
  if (instance === undefined) throw new Error('no instance');
  return instance;
}

/** The same one, with its rows created and its ticks ended: from now on the test makes their calls. */
export async function withoutTicks(sim: RivalTicks): Promise<Instance> {
  const instance = firstInstance(sim);
  await sim.clock.advance(20_000);
  instance.coordinator.stopping = true;
  await sim.clock.advance(20_000);
  instance.coordinator.stopping = false;
  return instance;
}

export function runnableJob({ coordinator }: Instance, name: JobName): RunnableJob {
  const job = coordinator.jobs.get(name);
  if (job === undefined) throw new Error(`no job ${name}`);
  return job;
}

export async function listedRow({ store }: RivalTicks, job: JobName): Promise<ListedRow> {
  const row = await store.readRow(job);
  if (row === undefined) throw new Error(`no row of ${job}`);
  return row;
}

/** Writes the row in the state in which a holder that released it, or died, would have left it. */
export async function leaveRow(sim: RivalTicks, job: JobName, row: Row, how: 'letGo' | 'died'): Promise<ETag> {
  const { store } = sim;
  const { etag: ifMatch } = await listedRow(sim, job);
  const leaseId = 'dddddddd-0000-4000-8000-000000000000' as LeaseId;
  await store.acquire(job, { leaseId, leaseMs: 15_000, ifMatch });
  const written = await store.writeRow(job, encodeRow(row), { leaseId, ifMatch });
  if (written.kind === 'refused') throw new Error(`the row of ${job} is somebody else's`);
  if (how === 'letGo') await store.release(job, leaseId);
  return written.etag;
}
