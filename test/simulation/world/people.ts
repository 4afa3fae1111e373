import type { JobName } from '../../../src/core/brand';
import { ForeignMetadataError } from '../../../src/core/metadata';
import { StoreError } from '../../../src/lease/store';
import type { LeaseStore, Metadata } from '../../../src/lease/store';
import { OperatorError } from '../../../src/operator/operator-error';
import type { Network } from './network';
import { storeOver } from './network';
import { createProcess } from './process';
import { OPERATOR, START } from './world';
import type { World } from './world';

/** A call that was sent arrives within this, if it does. */
export const ARRIVES_WITHIN_MS = 61_000;

/** What a person does. Being refused is an answer, and so is that storage cannot be reached where it may not be. */
export function operate(world: World, act: (store: LeaseStore) => Promise<unknown>): void {
  const mayFail = world.troubled && world.plan.people === true;
  act(mayFail ? storeOfOperator(world) : world.store).catch((error: unknown) => {
    if (error instanceof OperatorError) return;
    if (mayFail && (error instanceof StoreError || error instanceof ForeignMetadataError)) return;
    const kind = error instanceof StoreError || error instanceof ForeignMetadataError ? 'operatorFailed' : 'crashed';
    world.observer.report(kind, 'all', `an operator's call failed: ${String(error)}`);
  });
}

/** The store as a command reaches it, which is a process of its own: one that dies is not started again. */
function storeOfOperator(world: World): LeaseStore {
  const { timeline, trace, faults, counts, observer, service } = world;
  world.operators += 1;
  const actor = { ...OPERATOR, id: `operator#${String(world.operators)}`, views: new Map() };
  const process = createProcess(actor.id, timeline, START, { skewMs: 0, drift: 0 });
  const network: Network = {
    timeline,
    trace,
    calls: faults.stream(actor.id),
    slowMs: 0,
    outage: () => world.outage,
    denied: () => false,
    crash: () => {
      trace?.add(actor.id, 'killed');
      process.kill();
    },
    pause: (lasts, asleep) => {
      process.pause(asleep);
      timeline.after(lasts, process.wake);
    },
    called: () => {
      counts.calls += 1;
    },
  };
  // Nobody goes on with a command for longer than there are faults.
  const ends = world.plan.troubledMs - timeline.now();
  timeline.after(ends, process.kill);
  return storeOver(network, process, observer.watch(service.open(), actor), {
    sent: () => undefined,
    listed: () => undefined,
  });
}

/** What no control of cronlease's says. */
const FOREIGN = 'of another program';

/** Something else writes over a control: its job is left alone until somebody puts it right. */
export async function spoilControl(
  { service, timeline, trace, observer }: World,
  job: JobName,
  lasts: number,
): Promise<void> {
  const facts = observer.jobs.get(job);
  if (facts === undefined || facts.spoiledSince !== undefined) return;
  const store = service.open();
  facts.spoiledSince = START + timeline.now();
  const { control } = await store.readControl(job);
  await store.writeControl(job, { ...control?.metadata, pauses: FOREIGN }, control?.etag);
  trace?.add('store', `${job} control is spoiled`);
  timeline.after(lasts, () => {
    facts.spoiledSince = undefined;
    trace?.add('store', `${job} control is put right`);
    void putRight(store, job, control?.metadata);
  });
}

async function putRight(store: LeaseStore, job: JobName, metadata: Metadata | undefined): Promise<void> {
  const { control } = await store.readControl(job);
  if (control === undefined) return;
  if (metadata === undefined) await store.removeControl(job, control.etag);
  else await store.writeControl(job, metadata, control.etag);
}
