import type { JobName, LeaseId, Millis } from '../../../src/core/brand';
import type { LeaseStore, Metadata } from '../../../src/lease/store';
import { checkSaidForeign } from '../checks/foreign';
import { endSpoil, FIRST_STORE, isFinal } from './facts';
import { START, type World } from './world';

/*
 * Another program writes over a blob of one job, and an operator repairs it after a while. Until then the job is left
 * alone.
 */

/** Contents that no control of cronlease has. */
const FOREIGN = 'of another program';

/** The ways to spoil a row: a newer format, a field that cannot be read, or another program's contents. */
export type RowSpoil = 'format' | 'field' | 'replaced';

const SPOILT: Readonly<Record<RowSpoil, (row: Metadata) => Metadata>> = {
  format: (row) => ({ ...row, format: '2' }),
  field: (row) => ({ ...row, cursor: 'soon' }),
  replaced: () => ({ owner: FOREIGN }),
};

export async function spoilControl(world: World, job: JobName, lasts: Millis): Promise<void> {
  const store = storeOf(world, job);
  if (store === undefined) return;
  const { control } = await store.readControl(job);
  await whileSpoiled(world, job, 'control', lasts, {
    spoil: async () => {
      await store.writeControl(job, { ...control?.metadata, pauses: FOREIGN }, control?.etag);
    },
    putRight: () => putControlRight(store, job, control?.metadata),
  });
}

async function putControlRight(store: LeaseStore, job: JobName, metadata: Metadata | undefined): Promise<void> {
  const { control } = await store.readControl(job);
  if (control === undefined) return;
  if (metadata === undefined) await store.removeControl(job, control.etag);
  else await store.writeControl(job, metadata, control.etag);
}

/** Storage refuses a write without the lease's id while the row is held: then nothing happens. */
export async function spoilRow(world: World, job: JobName, how: RowSpoil, lasts: Millis): Promise<void> {
  const store = storeOf(world, job);
  const row = await store?.readRow(job);
  if (store === undefined || row?.lease !== 'available') return;
  await whileSpoiled(world, job, 'row', lasts, {
    spoil: () => overwrite(world, store, job, SPOILT[how](row.metadata)),
    putRight: () => overwrite(world, store, job, row.metadata),
  });
}

/**
 * By then a whole listing has shown that the row is gone, and due times that may have been claimed ahead have passed.
 */
const BACK_WITHIN_MS = 60_000;

/** Deletes a row that no one holds and whose run is over. The next one begins above its tokens, and at its time. */
export async function deleteRow(world: World, job: JobName): Promise<void> {
  const { observer, serviceAt, timeline, trace } = world;
  const facts = observer.jobs.get(job);
  const row = await storeOf(world, job)?.readRow(job);
  if (facts?.row === undefined || row?.lease !== 'available') return;
  const { run, phase, cursor } = facts.row;
  const isOver = run === undefined || phase === 'idle' || phase === 'settled' || isFinal(facts, run.key);
  if (!isOver || facts.spoiled.some(({ until }) => until === undefined)) return;
  serviceAt(facts.home).deleteRow(job);
  trace?.add('store', `${job} row is deleted`);
  // Due times until it is back have no outcome.
  facts.reigns.push({ hash: 'deleted', after: cursor });
  facts.row = undefined;
  facts.etag = undefined;
  facts.lease = undefined;
  const since = START + timeline.now();
  facts.spoiled.push({ what: 'row', since, until: since + BACK_WITHIN_MS });
}

/** The store in which the job's row counts. Undefined: it is on its way to another one. */
function storeOf({ observer, serviceAt }: World, job: JobName): LeaseStore | undefined {
  const { home, hasLeft, copy } = observer.jobs.get(job) ?? {};
  if (home === undefined || hasLeft === true || (copy !== undefined && home === FIRST_STORE)) return undefined;
  return serviceAt(home).open();
}

/** One write without a lease, as another program makes it: no time passes, and no one sees the lease. */
async function overwrite({ observer }: World, store: LeaseStore, job: JobName, metadata: Metadata): Promise<void> {
  const leaseId = 'another-program' as LeaseId;
  const row = await store.readRow(job);
  if (row === undefined) return;
  await store.acquire(job, { leaseId, leaseMs: store.limits.leaseMs.least, ifMatch: row.etag });
  const written = await store.writeRow(job, metadata, { leaseId, ifMatch: row.etag });
  await store.release(job, leaseId);
  const facts = observer.jobs.get(job);
  if (facts !== undefined && written.kind === 'written') facts.etag = written.etag;
}

async function whileSpoiled(
  world: World,
  job: JobName,
  what: 'row' | 'control',
  lasts: Millis,
  { spoil, putRight }: { readonly spoil: () => Promise<void>; readonly putRight: () => Promise<void> },
): Promise<void> {
  const { timeline, trace, observer } = world;
  const facts = observer.jobs.get(job);
  if (facts === undefined || facts.spoiled.some(({ until }) => until === undefined)) return;
  const spoiled = { what, since: START + timeline.now(), until: undefined };
  facts.spoiled.push(spoiled);
  await spoil();
  trace?.add('store', `${job} ${what} is spoiled`);
  timeline.after(lasts, () => {
    const until = START + timeline.now();
    // A job that was forgotten has lost its spoiled control, and another spoil may have begun since.
    if (!facts.spoiled.includes(spoiled) || !endSpoil(facts, what, until)) return;
    trace?.add('store', `${job} ${what} is put right`);
    checkSaidForeign(world, facts, { ...spoiled, until });
    void putRight();
  });
}
