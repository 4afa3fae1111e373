import type { Call } from '../calls';
import type { Fault } from '../evidence';
import type { HoldAt } from '../hold';
import { type Scenario, TOLD_MS, USUAL } from '../scenario';
import { longIsRunning, oldLeaderEnds, othersGoOn } from '../steps';
import { inTime, trueNow } from '../time';
import type { World } from '../world';

const COMES_WITHIN_MS = 60_000;
const ZOMBIE = { ...USUAL, toldMs: TOLD_MS };
const LONG = { ms: 60_000, laterMs: 1_000 };

function stop(world: World, deployment: string): Fault {
  const { pid, signal } = world.instance(deployment);
  const from = trueNow();
  signal('SIGSTOP');
  return { kind: 'stopped', deployment, pid, from, until: Infinity };
}

function wake(world: World, fault: Fault): Fault {
  const until = trueNow();
  world.instance(fault.deployment).signal('SIGCONT');
  return { ...fault, until };
}

const stopInHandler: Scenario = {
  name: 'stop-in-handler',
  shows: 'SIGSTOP in the handler past the lease, SIGCONT, fenced write on waking',
  long: LONG,
  targets: ZOMBIE,
  async act(world) {
    const { deployment } = await longIsRunning(world);
    const stopped = stop(world, deployment);
    await othersGoOn(world, stopped);
    const fault = wake(world, stopped);
    await oldLeaderEnds(world, fault.pid, 'long');
    return { faults: [fault] };
  },
};

const stopInWrite: Scenario = {
  name: 'stop-in-fenced-write',
  shows: 'SIGSTOP past the lease with a fenced write on its way, which arrives after the successor',
  long: LONG,
  targets: ZOMBIE,
  async act(world) {
    await longIsRunning(world);
    const hold = world.hold('request', ({ kind }) => kind === 'fenced');
    const { deployment } = await inTime('a fenced write', COMES_WITHIN_MS, hold.caught, world.signal);
    const stopped = stop(world, deployment);
    await world.note("the successor's write", COMES_WITHIN_MS, ({ what, at, pid }) => {
      return what === 'wrote' && at > stopped.from && pid !== stopped.pid;
    });
    hold.letGo();
    const fault = wake(world, stopped);
    await oldLeaderEnds(world, fault.pid, 'long');
    return { faults: [fault] };
  },
};

/** Stops the instance while the proxy holds a call of it or its answer, which goes on before the instance wakes. */
function stopAt(name: string, shows: string, at: HoldAt, fits: (call: Call) => boolean): Scenario {
  return {
    name,
    shows,
    targets: USUAL,
    async act(world) {
      const hold = world.hold(at, fits);
      const { deployment } = await inTime('the call to be held', COMES_WITHIN_MS, hold.caught, world.signal);
      const stopped = stop(world, deployment);
      await othersGoOn(world, stopped);
      hold.letGo();
      return { faults: [wake(world, stopped)] };
    },
  };
}

const blocked: Scenario = {
  name: 'blocked-event-loop',
  shows: 'a handler blocks the event loop past its lease, then writes',
  long: { ...LONG, blockMs: 34_000 },
  targets: ZOMBIE,
  async act(world) {
    const { deployment, pid } = await longIsRunning(world);
    // It has been blocked for 0.2 s by now.
    const fault: Fault = { kind: 'stopped', deployment, pid, from: trueNow(), until: Infinity };
    await othersGoOn(world, fault);
    const free = await world.note('its end', COMES_WITHIN_MS, (note) => note.what === 'unblocked' && note.pid === pid);
    await oldLeaderEnds(world, pid, 'long');
    return { faults: [{ ...fault, until: free.at }] };
  },
};

export const stopScenarios: readonly Scenario[] = [
  stopInHandler,
  stopInWrite,
  stopAt('stop-claimed', 'SIGSTOP between claim and handler past the lease, SIGCONT', 'answer', (call) => {
    return call.kind === 'row' && call.job === 'steady' && call.phase === 'running' && !call.ends;
  }),
  stopAt(
    'stop-in-record',
    'SIGSTOP past the lease with the record on its way, which arrives late',
    'request',
    (call) => {
      return call.kind === 'record' && call.job === 'steady' && call.state === 'final';
    },
  ),
  blocked,
];
