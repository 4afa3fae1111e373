import type { Fault } from '../evidence';
import type { Proxy } from '../proxy';
import { type Scenario, USUAL } from '../scenario';
import { longIsRunning, oldLeaderEnds, othersGoOn } from '../steps';
import { pause, trueNow } from '../time';

const DELAY_MS = 3_000;
const LOSS = 0.15;
const BAD_MS = 25_000;
const TO_STORAGE = 'between storage and the instance that holds the long job';

/** A bad network for a while, for the instance that runs the long job. */
function slowed(name: string, shows: string, spoil: (proxy: Proxy) => void): Scenario {
  return {
    name,
    shows,
    targets: USUAL,
    async act(world) {
      const { deployment, pid } = await longIsRunning(world);
      const proxy = world.proxy(deployment);
      const from = trueNow();
      spoil(proxy);
      await pause(BAD_MS, world.signal);
      proxy.heal();
      return { faults: [{ kind: 'slowed', deployment, pid, from, until: trueNow() }] };
    },
  };
}

const blackhole: Scenario = {
  name: 'network-blackhole',
  shows: `a black hole ${TO_STORAGE}, for longer than its lease`,
  long: { ms: 60_000, laterMs: 1_000 },
  // It must know before its lease ends.
  targets: { ...USUAL, toldMs: 15_000 },
  async act(world) {
    const { deployment, pid } = await longIsRunning(world);
    const proxy = world.proxy(deployment);
    const fault: Fault = { kind: 'cutOff', deployment, pid, from: trueNow(), until: Infinity };
    proxy.blackhole();
    await othersGoOn(world, fault);
    const until = trueNow();
    proxy.heal();
    await oldLeaderEnds(world, pid, 'long');
    return { faults: [{ ...fault, until }] };
  },
};

/** The same numbers each time. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

export const networkScenarios: readonly Scenario[] = [
  slowed('network-slow', `each request ${String(DELAY_MS / 1000)} s late ${TO_STORAGE}`, (proxy) => {
    proxy.delay(DELAY_MS);
  }),
  slowed(
    'network-cuts',
    `one request and one answer in ${String(Math.round(1 / LOSS))} lost, connection reset, ${TO_STORAGE}`,
    (proxy) => {
      proxy.cut(LOSS, seeded(1));
    },
  ),
  blackhole,
];
