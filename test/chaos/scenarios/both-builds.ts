import type { Fault } from '../evidence';
import { type Scenario, TAKE_OVER_MS } from '../scenario';
import { kill } from '../steps';
import { DeadlineError, inTime, pause, trueNow } from '../time';
import type { World } from '../world';

const ENDS_WITHIN_MS = 60_000;
const DOWN_MS = 1_000;
/** From one fault to the next: about the length of a run of `flaky`, and no multiple of any period. */
const EVERY_MS = 7_300;
/** Every so many faults a host is told to stop instead. */
const DRAINS_EVERY = 4;

/** Deployments of this build and of another one share a container, and lose their hosts in turn. */
export function bothBuilds(revision: string, seconds: number): Scenario {
  return {
    name: 'both-builds',
    shows: `deployments of this build and of ${revision} in one container for ${String(seconds)} s, hosts killed in turn`,
    load: 'all',
    clockShiftsMs: [0, 0, 0, 0],
    otherBuild: ['d2', 'd4'],
    // Whoever takes over may be the next to be killed.
    targets: { takeOverMs: 2 * TAKE_OVER_MS, gapOthersMs: undefined },
    async act(world) {
      const until = trueNow() + seconds * 1000;
      const faults: Fault[] = [];
      for (let turn = 0; trueNow() < until; turn += 1) {
        await pause(EVERY_MS, world.signal);
        const deployment = world.deployments[turn % world.deployments.length] ?? '';
        // Both builds meet both ends: the turns of one deployment come four faults apart.
        const drains = Math.floor(turn / world.deployments.length) % DRAINS_EVERY === DRAINS_EVERY - 1;
        faults.push(drains ? await tellToStop(world, deployment) : await kill(world, deployment));
        await pause(DOWN_MS, world.signal);
        await world.restart(deployment);
      }
      const idle = world.deployments.filter(
        (deployment) => !world.notes().some((note) => note.deployment === deployment),
      );
      if (idle.length > 0)
        throw new DeadlineError(`${idle.join(' and ')} won nothing: that shows nothing of two builds`);
      return { faults };
    },
  };
}

async function tellToStop(world: World, deployment: string): Promise<Fault> {
  const victim = world.instance(deployment);
  const from = trueNow();
  victim.signal('SIGTERM');
  await inTime(`the end of ${deployment}`, ENDS_WITHIN_MS, victim.exited, world.signal);
  return { kind: 'drained', deployment, pid: victim.pid, from, until: trueNow() };
}
