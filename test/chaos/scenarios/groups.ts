import type { Note } from '../app/note';
import { GROUP_JOBS } from '../groups';
import { type Scenario, TAKE_OVER_MS, USUAL } from '../scenario';
import { kill, othersGoOn } from '../steps';
import { pause, trueNow } from '../time';
import type { World } from '../world';

const COMES_WITHIN_MS = 60_000;
const INTO_HANDLER_MS = 300;
/** All that was due while a dead member had its place has begun by then, and the next due times with it. */
const AFTER_MS = 20_000;
/**
 * A dead member keeps its place until its lease has ended. Its own job starts at its take-over; the others wait for the
 * place that is left, or for two runs of a second each after that.
 */
const GROUP_WAIT_MS = TAKE_OVER_MS + 3_000;
/** Due times of a group that is full wait a second or two for their turn, also while nothing fails. */
const TARGETS = { ...USUAL, gapOthersMs: undefined, groupWaitMs: GROUP_WAIT_MS };

/** Waits for a handler of the group to be at work. */
async function inside(world: World): Promise<Note> {
  const since = trueNow();
  const found = await world.note('a run of the group', COMES_WITHIN_MS, ({ what, job, at }) => {
    return what === 'started' && GROUP_JOBS.includes(job) && at > since;
  });
  await pause(INTO_HANDLER_MS, world.signal);
  return found;
}

const killInGroup: Scenario = {
  name: 'kill-in-group',
  shows: 'kill -9 in a handler of a group with `maxParallel` 2',
  load: 'grouped',
  targets: TARGETS,
  async act(world) {
    const { deployment } = await inside(world);
    const fault = await kill(world, deployment);
    await othersGoOn(world, fault);
    await pause(AFTER_MS, world.signal);
    return { faults: [fault] };
  },
};

const stopInGroup: Scenario = {
  name: 'stop-in-group',
  shows: 'SIGSTOP in a handler of a group with `maxParallel` 2, past its lease, SIGCONT',
  load: 'grouped',
  targets: TARGETS,
  async act(world) {
    const { deployment } = await inside(world);
    const { pid, signal } = world.instance(deployment);
    const from = trueNow();
    signal('SIGSTOP');
    const stopped = { kind: 'stopped', deployment, pid, from, until: Infinity } as const;
    await othersGoOn(world, stopped);
    const until = trueNow();
    signal('SIGCONT');
    await pause(AFTER_MS, world.signal);
    return { faults: [{ ...stopped, until }] };
  },
};

export const groupScenarios: readonly Scenario[] = [killInGroup, stopInGroup];
