import { activityFence } from '../../../src/coordinator/activity-fence';
import { sleep } from '../../../src/core/clock';
import type { OrchestrationRun } from '../../../src/core/orchestration';
import type { OrchestrationHandler } from '../../../src/handler/define-orchestration';
import type { FencedBlob } from '../../../src/lease/fence';
import { type PlannedOrchestration, firstSpec } from '../faults/plan-job';
import { seededBy } from '../faults/random';
import type { Action, App, AppActivity } from './hub';
import type { Instance } from './instance';
import { START, type World } from './world';

export function orchestrationHandler({ takeOverAfterMs }: PlannedOrchestration): OrchestrationHandler {
  return { orchestrator: 'simulated', takeOverAfterMs };
}

function plannedOf(world: World, job: string): PlannedOrchestration {
  const planned = world.plan.jobs.find((one) => firstSpec(one).name === job)?.orchestration;
  if (planned === undefined) throw new Error(`${job} is no orchestration`);
  return planned;
}

/** The app in whose task hubs orchestrations run: activities one after another, and timers between them. */
export function simulatedApp(world: () => World): App {
  return {
    orchestrate: (run) => orchestrate(world(), run),
    began: (run) => world().observer.orchestrationBegan(run),
    terminated: (run) => world().observer.orchestrationTerminated(run),
    succeeded: (run) => world().observer.orchestrationSucceeded(run),
    failed: (run) => world().observer.orchestrationFailed(run),
  };
}

function* orchestrate(world: World, run: OrchestrationRun): Generator<Action, unknown, unknown> {
  const { steps, fails, endless } = plannedOf(world, run.job);
  const random = seededBy(world.plan.seed, 'orchestration', run.runId, run.attempt);
  const isEndless = world.troubled && random.chance(endless);
  // It waits for an event that does not come.
  const isStuck = world.troubled && random.chance(endless / 2);
  const willFail = world.troubled && random.chance(fails);
  for (let step = 0; step < (world.troubled ? steps : 1) || (isEndless && world.troubled); step += 1) {
    yield { kind: 'app', input: { kind: 'app', cronlease: run, step } };
    if (world.troubled && random.chance(0.3)) {
      yield { kind: 'timer', at: new Date(START + world.timeline.now() + random.whole(1_000, 20_000)) };
    }
  }
  while (isStuck) yield { kind: 'timer', at: new Date(START + world.timeline.now() + 20_000) };
  if (willFail) throw new Error('simulated');
  return { by: run.token };
}

/** An activity writes through its fence now and then, and may ignore that it is refused. */
export async function simulatedActivity(
  world: World,
  { cronlease, step }: AppActivity,
  { coordinator, process }: Instance,
  blob: FencedBlob,
): Promise<unknown> {
  const { observer, trace, plan } = world;
  const { ignores } = plannedOf(world, cronlease.job);
  const random = seededBy(plan.seed, 'activity', cronlease.runId, cronlease.attempt, step);
  const obeys = !random.chance(ignores);
  const activity = { run: cronlease, fence: activityFence(coordinator, cronlease), process };
  trace?.add(process.id, `activity ${String(step)} of ${cronlease.runId} token ${String(cronlease.token)} starts`);
  observer.activityStarted(activity);
  try {
    const { clock } = process;
    const ends = clock.monotonic() + (world.troubled ? random.whole(0, random.pick([2_000, 30_000])) : 50);
    for (;;) {
      const refused = await activity.fence.check().then(
        () => undefined,
        (error: unknown) => (error instanceof Error ? error : new Error('refused')),
      );
      if (refused !== undefined && obeys) return { failed: String(refused) };
      if (random.chance(0.5)) await activity.fence.write(blob, 'x').catch(() => undefined);
      const left = ends - clock.monotonic();
      if (left <= 0) return { step };
      await sleep(clock, Math.min(left, 3_000));
    }
  } finally {
    observer.activityEnded(activity);
  }
}
