import type { Fault } from '../evidence';
import { type Acted, type Scenario, TAKE_OVER_MS } from '../scenario';
import { longIsRunning } from '../steps';
import { inTime, pause, trueNow } from '../time';
import type { World } from '../world';

const COMES_WITHIN_MS = 60_000;
const SHORT_MS = 10_000;
const LONG_MS = 30_000;
const CAUGHT_UP_MS = 5_000;
/** What the emulator may have confirmed and not yet saved: it saves every 5 s. */
const UNSAVED_MS = 6_000;
const DOWN_MS = 2_000;

/** With leases of 30 s, which is the default, runs go on over a short outage. */
const OVER_SHORT: Pick<Scenario, 'lease' | 'targets'> = {
  lease: '30s',
  targets: { takeOverMs: TAKE_OVER_MS + 15_000, gapOthersMs: undefined, caughtUpMs: CAUGHT_UP_MS },
};

function outage(world: World, from: number, until: number): Fault[] {
  return world.deployments.map((deployment) => {
    return { kind: 'outage', deployment, pid: world.instance(deployment).pid, from, until };
  });
}

/** Stops the server for a while. Requests in its sockets are served when it wakes, whoever still waits for them. */
async function stopStorage(world: World, ms: number, onceStopped: () => void = () => undefined): Promise<Acted> {
  const from = trueNow();
  world.storage.pause();
  onceStopped();
  await pause(ms, world.signal);
  const until = trueNow();
  world.storage.resume();
  await pause(CAUGHT_UP_MS, world.signal);
  return { faults: outage(world, from, until) };
}

async function stopInLongRun(world: World, ms: number): Promise<Acted> {
  await longIsRunning(world);
  return stopStorage(world, ms);
}

export const storageScenarios: readonly Scenario[] = [
  {
    ...OVER_SHORT,
    name: 'outage-10s',
    shows: 'storage stopped with SIGSTOP for 10 s (leases of 30 s, the default)',
    act: (world) => stopInLongRun(world, SHORT_MS),
  },
  {
    ...OVER_SHORT,
    name: 'outage-10s-busy',
    shows: 'the same with five more jobs, each due every second',
    load: 'busy',
    act: (world) => stopInLongRun(world, SHORT_MS),
  },
  {
    ...OVER_SHORT,
    name: 'outage-10s-acquiring',
    shows: 'the same with an acquisition on its way, which takes effect after its caller has given up',
    async act(world) {
      const hold = world.hold('request', (call) => call.kind === 'acquire' && call.job === 'steady');
      await inTime('an acquisition', COMES_WITHIN_MS, hold.caught, world.signal);
      return stopStorage(world, SHORT_MS, hold.letGo);
    },
  },
  {
    name: 'outage-30s',
    shows: 'storage stopped with SIGSTOP for 30 s (leases of 15 s, which all run out)',
    targets: { takeOverMs: TAKE_OVER_MS, gapOthersMs: undefined },
    act: (world) => stopInLongRun(world, LONG_MS),
  },
  {
    name: 'storage-restarted',
    shows: 'storage killed with -9 and started again on its files',
    keepsFiles: true,
    targets: { takeOverMs: TAKE_OVER_MS, gapOthersMs: undefined },
    async act(world) {
      await longIsRunning(world);
      const from = trueNow();
      await world.storage.kill();
      await pause(DOWN_MS, world.signal);
      await world.storage.restart();
      const until = trueNow();
      await pause(CAUGHT_UP_MS, world.signal);
      const faults = outage(world, from, until);
      return world.storage.forgets ? { faults, forgotten: { from: from - UNSAVED_MS, until } } : { faults };
    },
  },
];
