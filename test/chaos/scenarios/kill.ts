import type { Call } from '../calls';
import type { HoldAt } from '../hold';
import { type Scenario, USUAL } from '../scenario';
import { kill, longIsRunning, othersGoOn } from '../steps';
import { inTime, until } from '../time';

const COMES_WITHIN_MS = 60_000;
const TARGET = 'steady';

/** Kills the instance that makes the first call that fits, while the proxy holds that call or its answer. */
function killAt(name: string, shows: string, at: HoldAt, fits: (call: Call) => boolean): Scenario {
  return {
    name,
    shows,
    targets: USUAL,
    async act(world) {
      const hold = world.hold(at, fits);
      const { deployment } = await inTime('the call to be held', COMES_WITHIN_MS, hold.caught, world.signal);
      const fault = await kill(world, deployment);
      hold.drop();
      await othersGoOn(world, fault);
      return { faults: [fault] };
    },
  };
}

const isClaim = (call: Call): boolean =>
  call.kind === 'row' && call.job === TARGET && call.phase === 'running' && !call.ends;
const isRecord = (call: Call): boolean => call.kind === 'record' && call.job === TARGET && call.state === 'final';

const killInHandler: Scenario = {
  name: 'kill-in-handler',
  shows: 'kill -9 in the handler',
  targets: USUAL,
  async act(world) {
    const { deployment } = await longIsRunning(world);
    const fault = await kill(world, deployment);
    await othersGoOn(world, fault);
    return { faults: [fault] };
  },
};

const killWhenQuiet: Scenario = {
  ...killInHandler,
  name: 'kill-when-quiet',
  shows: 'kill -9 in the handler of the only job, so that nothing else makes the others look',
  load: 'quiet',
};

const killInRetryWait: Scenario = {
  name: 'kill-in-retry-wait',
  shows: 'kill -9 while a run waits for its retry',
  targets: USUAL,
  async act(world) {
    const seen = world.events.length;
    const { deployment } = await until(
      'a retry',
      COMES_WITHIN_MS,
      () => world.events.slice(seen).find(({ event, job }) => event === 'retrying' && job === 'flaky'),
      world.signal,
    );
    const fault = await kill(world, deployment);
    await othersGoOn(world, fault);
    return { faults: [fault] };
  },
};

export const killScenarios: readonly Scenario[] = [
  killAt('kill-in-tick', 'kill -9 in a tick that waits for its listing', 'answer', (call) => call.kind === 'list'),
  killAt(
    'kill-acquired',
    'kill -9 after the acquisition, before its answer',
    'answer',
    (call) => call.kind === 'acquire' && call.job === TARGET,
  ),
  killAt('kill-handed-over', 'kill -9 between acquisition and claim', 'request', isClaim),
  killAt('kill-claimed', 'kill -9 right after the claim, before the handler', 'answer', isClaim),
  killInHandler,
  killWhenQuiet,
  killAt('kill-unrecorded', 'kill -9 after the handler, before its record', 'request', isRecord),
  killAt('kill-recorded', 'kill -9 after the record, before the release', 'answer', isRecord),
  killInRetryWait,
];
