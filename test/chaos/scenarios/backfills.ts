import { startBackfill } from '../../../src/operator/operations/backfill';
import { FILLED } from '../backfills';
import type { BackfillSpan, Fault } from '../evidence';
import { type Scenario, TAKE_OVER_MS, USUAL } from '../scenario';
import { kill, othersGoOn } from '../steps';
import { pause, trueNow } from '../time';
import type { World } from '../world';

const COMES_WITHIN_MS = 60_000;
const DOWN_MS = 1_000;
const INTO_HANDLER_MS = 150;
const HOUR_MS = 3_600_000;
/** 24 due times of a job that is due every 10 s. */
const LENGTH_MS = 240_000;

/** Starts a back-fill of due times from before the first instance, and waits until its third run is at work. */
async function fill(world: World): Promise<{ readonly backfill: BackfillSpan; readonly deployment: string }> {
  const spec = world.jobs.find(({ name }) => name === FILLED);
  if (spec === undefined) throw new Error(`there is no job ${FILLED}`);
  const until = Math.floor(trueNow()) - HOUR_MS;
  const span = { from: until - LENGTH_MS, until };
  const id = 'chaos';
  await startBackfill({ store: world.store() }, spec, {
    ...{ from: span.from + 1, to: span.until, order: 'oldest', limit: undefined, includeSucceeded: false, id },
    origin: { actor: 'chaos', channel: 'shell' },
  });
  const isThird = (): boolean =>
    world.notes().filter(({ what, isBackfill }) => what === 'started' && isBackfill === true).length > 2;
  const { deployment } = await world.note('the third back-filled run', COMES_WITHIN_MS, (note) => {
    return note.what === 'started' && note.isBackfill === true && isThird();
  });
  const latest = world.notes().findLast(({ what, isBackfill }) => what === 'started' && isBackfill === true);
  await pause(INTO_HANDLER_MS, world.signal);
  return { backfill: { job: FILLED, id, ...span }, deployment: latest?.deployment ?? deployment };
}

const killInBackfill: Scenario = {
  name: 'kill-in-backfill',
  shows: 'kill -9 of the holder in a back-fill of 24 due times',
  load: 'filled',
  targets: USUAL,
  async act(world) {
    const { backfill, deployment } = await fill(world);
    const fault = await kill(world, deployment);
    await othersGoOn(world, fault);
    return { faults: [fault], backfill };
  },
};

const allKilledInBackfill: Scenario = {
  name: 'all-killed-in-backfill',
  shows: 'kill -9 of all instances in a back-fill of 24 due times, all started again',
  load: 'filled',
  targets: { takeOverMs: TAKE_OVER_MS, gapOthersMs: undefined },
  async act(world) {
    const { backfill } = await fill(world);
    const faults: Fault[] = await Promise.all(world.deployments.map((deployment) => kill(world, deployment)));
    await pause(DOWN_MS, world.signal);
    await Promise.all(world.deployments.map((deployment) => world.restart(deployment)));
    await Promise.all(faults.map((fault) => othersGoOn(world, fault)));
    return { faults, backfill };
  },
};

export const backfillScenarios: readonly Scenario[] = [killInBackfill, allKilledInBackfill];
