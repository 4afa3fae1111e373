import type { Note } from './app/note';
import { heldBy } from './calls';
import type { Fault } from './evidence';
import { DeadlineError, pause, trueNow, until } from './time';
import type { World } from './world';

const COMES_WITHIN_MS = 60_000;
/** So long after its start a handler is in the middle of its work. */
const INTO_HANDLER_MS = 700;

/** Waits until the job `long`, which is due once, is in the middle of its first attempt. */
export async function longIsRunning(world: World): Promise<Note> {
  const started = await world.note('the start of "long"', COMES_WITHIN_MS, ({ what, job }) => {
    return what === 'started' && job === 'long';
  });
  await pause(INTO_HANDLER_MS, world.signal);
  if (world.notes().some(({ what, job }) => what === 'ended' && job === 'long')) {
    throw new DeadlineError('"long" had ended before the fault: the machine is too busy');
  }
  return started;
}

export async function kill(world: World, deployment: string): Promise<Fault> {
  const victim = world.instance(deployment);
  const from = trueNow();
  victim.signal('SIGKILL');
  await victim.exited;
  return { kind: 'killed', deployment, pid: victim.pid, from, until: from };
}

/** Waits until every job that the victim held has been started elsewhere. That it was not is for the judge to say. */
export async function othersGoOn(world: World, fault: Fault): Promise<void> {
  const held = [...heldBy(world.traffic, fault.deployment, { from: fault.from, until: fault.from })];
  try {
    await until(
      'the take-over',
      COMES_WITHIN_MS,
      () => {
        const later = world
          .notes()
          .filter(({ what, at, pid }) => what === 'started' && at > fault.from && pid !== fault.pid);
        return held.every((job) => later.some((note) => note.job === job)) ? true : undefined;
      },
      world.signal,
    );
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
  }
}

/** Waits until an old leader has tried to write, and been told. */
export async function oldLeaderEnds(world: World, pid: number, job: string): Promise<void> {
  await world.note("the old leader's end", COMES_WITHIN_MS, (note) => {
    return note.what === 'ended' && note.pid === pid && note.job === job;
  });
}
