import type { Fault } from '../evidence';
import { type Scenario, TICK_MS, USUAL } from '../scenario';
import { kill, othersGoOn } from '../steps';
import { pause, trueNow, until } from '../time';
import { POLLED, STEPS } from '../waiting';
import type { Note } from '../app/note';
import type { World } from '../world';

const COMES_WITHIN_MS = 60_000;
const INTO_STEP_MS = 700;
/** The silence, the next tick, the wait for the fences of the old one, and a margin. */
const ORCHESTRATION_MS = 60_000 + TICK_MS + 12_000 + 5_000;
const ENDS_WITHIN_MS = 60_000;

/** Waits until the orchestration is in the middle of its first step. */
async function stepIsRunning(world: World): Promise<Note> {
  const started = await world.note('the first step', COMES_WITHIN_MS, ({ what, job }) => {
    return what === 'started' && job === STEPS;
  });
  await pause(INTO_STEP_MS, world.signal);
  return started;
}

async function takenOver(world: World, { pid }: Fault): Promise<void> {
  await world.note('another orchestration', ORCHESTRATION_MS + COMES_WITHIN_MS, (note) => {
    return note.what === 'started' && note.job === STEPS && note.pid !== pid;
  });
}

const killInOrchestration: Scenario = {
  name: 'kill-in-orchestration',
  shows: 'kill -9 of the only host of a deployment in an orchestration, which another deployment starts again',
  load: 'orchestrated',
  targets: { ...USUAL, takeOverMs: ORCHESTRATION_MS },
  async act(world) {
    const { deployment } = await stepIsRunning(world);
    const fault = { ...(await kill(world, deployment)), works: [STEPS] };
    await takenOver(world, fault);
    return { faults: [fault] };
  },
};

const stopInOrchestration: Scenario = {
  name: 'stop-in-orchestration',
  shows:
    'SIGSTOP in an orchestration until another deployment has started it again, SIGCONT: the old one is terminated',
  load: 'orchestrated',
  targets: { ...USUAL, takeOverMs: ORCHESTRATION_MS, toldMs: 5_000 },
  async act(world) {
    const { deployment, pid } = await stepIsRunning(world);
    const { signal, port } = world.instance(deployment);
    const from = trueNow();
    signal('SIGSTOP');
    const stopped: Fault = { kind: 'stopped', deployment, pid, from, until: Infinity, works: [STEPS] };
    await takenOver(world, stopped);
    const fault = { ...stopped, until: trueNow() };
    signal('SIGCONT');
    await until(
      'the termination of the old orchestration',
      ENDS_WITHIN_MS,
      async () => ((await statusOfSteps(await port)) === 'Terminated' ? true : undefined),
      world.signal,
    );
    return { faults: [fault] };
  },
};

/** What the task hub of a host says of the orchestration. */
async function statusOfSteps(port: number): Promise<string | undefined> {
  const answer = await fetch(`http://127.0.0.1:${String(port)}/runtime/webhooks/durabletask/instances`);
  const found = (await answer.json()) as readonly { readonly instanceId: string; readonly runtimeStatus: string }[];
  return found.find(({ instanceId }) => instanceId.startsWith(`${STEPS}-`) && /-t\d+$/.test(instanceId))?.runtimeStatus;
}

const killInOperation: Scenario = {
  name: 'kill-in-operation',
  shows: 'kill -9 while a call is polled: another deployment polls on, and does not call again',
  load: 'polled',
  targets: USUAL,
  async act(world) {
    await world.note('the call', COMES_WITHIN_MS, ({ what }) => what === 'called');
    await pause(INTO_STEP_MS, world.signal);
    const acquired = world.traffic.findLast(({ call, status }) => {
      return call.kind === 'acquire' && call.job === POLLED && status < 300;
    });
    if (acquired === undefined) throw new Error(`no deployment has acquired ${POLLED}`);
    const fault = await kill(world, acquired.deployment);
    await othersGoOn(world, fault);
    return { faults: [fault] };
  },
};

export const waitingScenarios: readonly Scenario[] = [killInOrchestration, stopInOrchestration, killInOperation];
