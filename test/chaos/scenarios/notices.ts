import { TOLD } from '../notices';
import { type Scenario, USUAL } from '../scenario';
import { kill, othersGoOn } from '../steps';
import { inTime } from '../time';

const COMES_WITHIN_MS = 60_000;

const killUntold: Scenario = {
  name: 'kill-untold',
  shows: 'kill -9 after the record of a run that calls for a notice, before that notice is stored',
  load: 'told',
  targets: USUAL,
  async act(world) {
    const hold = world.hold('answer', (call) => call.kind === 'record' && call.job === TOLD && call.state === 'final');
    const { deployment } = await inTime('the record to be held', COMES_WITHIN_MS, hold.caught, world.signal);
    const fault = await kill(world, deployment);
    hold.drop();
    await othersGoOn(world, fault);
    return { faults: [fault] };
  },
};

const killSending: Scenario = {
  name: 'kill-sending',
  shows: 'kill -9 after a notice has arrived, before its sender has the answer',
  load: 'told',
  targets: { ...USUAL, sentByTwo: true },
  async act(world) {
    const held = await inTime('a notice', COMES_WITHIN_MS, world.receiver().hold(), world.signal);
    const fault = await kill(world, held.deployment);
    held.drop();
    await othersGoOn(world, fault);
    return { faults: [fault] };
  },
};

export const noticeScenarios: readonly Scenario[] = [killUntold, killSending];
