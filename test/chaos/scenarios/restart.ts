import type { Fault } from '../evidence';
import { type Scenario, TAKE_OVER_MS, TICK_MS } from '../scenario';
import { kill, longIsRunning, othersGoOn } from '../steps';
import { inTime, pause, trueNow, until } from '../time';

const COMES_WITHIN_MS = 60_000;
const DOWN_MS = 1_000;
/**
 * A host that is told to stop takes work and runs none for up to 10 s. What it wins is given back after 4 s, and seen to
 * be free within 2 s; then a due time that passes during the run before it is overlapped. A lease takes 15 s.
 */
const GIVEN_BACK_GAP_MS = 9_000;
const SILENCE_MS = 10_000;

const allKilled: Scenario = {
  name: 'all-killed',
  shows: 'kill -9 of all instances at once, all started again',
  targets: { takeOverMs: TAKE_OVER_MS, gapOthersMs: undefined },
  async act(world) {
    await longIsRunning(world);
    const faults = await Promise.all(world.deployments.map((deployment) => kill(world, deployment)));
    await pause(DOWN_MS, world.signal);
    await Promise.all(world.deployments.map((deployment) => world.restart(deployment)));
    await Promise.all(faults.map((fault) => othersGoOn(world, fault)));
    return { faults };
  },
};

const rolling: Scenario = {
  name: 'rolling-restart',
  shows: 'SIGTERM, end and new start of one instance after another, under load',
  load: 'busy',
  // Drained runs go on within a tick, after the silence of the host and the 2 s that a shutdown may take.
  targets: { takeOverMs: SILENCE_MS + 2_000 + TICK_MS, gapOthersMs: GIVEN_BACK_GAP_MS },
  async act(world) {
    const faults: Fault[] = [];
    await longIsRunning(world);
    for (const deployment of world.deployments) {
      const old = world.instance(deployment);
      const from = trueNow();
      old.signal('SIGTERM');
      await inTime(`the end of ${deployment}`, COMES_WITHIN_MS, old.exited, world.signal);
      const fault: Fault = { kind: 'drained', deployment, pid: old.pid, from, until: trueNow() };
      faults.push(fault);
      await world.restart(deployment);
      // Ready is who has looked at storage: the next one is not taken away before.
      const seen = trueNow();
      await until(
        `the first tick of ${deployment}`,
        COMES_WITHIN_MS,
        () =>
          world.traffic.findLast((one) => one.deployment === deployment && one.at > seen && one.call.kind === 'list'),
        world.signal,
      );
      await othersGoOn(world, fault);
    }
    return { faults };
  },
};

export const restartScenarios: readonly Scenario[] = [allKilled, rolling];
