import type { JobName } from '../../../src/core/brand';
import { StoreError } from '../../../src/lease/store';
import { type Migration, migrate } from '../../../src/operator/shards/apply';
import { OperatorError } from '../../../src/operator/operator-error';
import type { PlannedMigration } from '../faults/disturbance';
import { FIRST_STORE, NEXT_STORE } from './facts';
import type { Deployment } from './instance';
import { operatorOf, soundDesk } from './people';
import { type World, kill, leave } from './world';

/*
 * People move all jobs to another store, and follow docs/reference/stores.md: they start `migrate`, restart the
 * deployments with the new connection once its layout is there, and repeat the command until all jobs have moved.
 */

/** Twice the sweep interval of the deployments. */
const WAIT_MS = 120_000;
/** A command that hangs is ended. */
const TRY_MS = 180_000;
const LOOKS_EVERY_MS = 5_000;
/** After so many commands that could not move every job, people stop all deployments of the former store. */
const REFUSED_AT_MOST = 3;
/** No one creates rows in both stores, or deletes any. */
const NEVER: ReadonlySet<string> = new Set(['TwoRows', 'LostRow', 'AccountMissing']);

export function startMigration(world: World, what: PlannedMigration): void {
  if (world.migration === 'moving' || world.migration === 'over') return;
  // People recover the jobs first.
  if (world.failingOver) {
    world.migration = 'waiting';
    world.timeline.after(LOOKS_EVERY_MS, () => {
      startMigration(world, what);
    });
    return;
  }
  world.migration = 'moving';
  if (what.diesOwing) {
    world.observer.whenOwing(() => {
      dieOwing(world);
    });
  }
  onceAnnounced(world, () => {
    for (const [index, after] of what.restartsAfter.entries()) {
      world.timeline.after(after, () => {
        const deployment = world.deployments[index];
        if (deployment !== undefined) restartOnNext(world, deployment);
      });
    }
  });
  move(world, what, 0);
}

/** All hosts die, and come back when the jobs may have moved. */
function dieOwing(world: World): void {
  if (world.migration !== 'moving') return;
  world.timeline.after(0, () => {
    for (const place of world.plan.instances) kill(world, place, WAIT_MS);
  });
}

/** Restarts all instances of a deployment with settings that name the next store. */
function restartOnNext(world: World, deployment: Deployment): void {
  if (deployment.home === NEXT_STORE) return;
  world.trace?.add(deployment.name, `is restarted on ${NEXT_STORE}`);
  deployment.home = NEXT_STORE;
  for (const place of world.plan.instances) {
    if (world.deployments[place.deployment] === deployment) leave(world, place, 1_000);
  }
}

function onceAnnounced(world: World, run: () => void): void {
  world.timeline.after(LOOKS_EVERY_MS, () => {
    if (world.observer.layouts.has(NEXT_STORE)) run();
    else onceAnnounced(world, run);
  });
}

/** One command, and the next one if it does not come to its end. */
function move(world: World, what: PlannedMigration, number: number): void {
  const { timeline, observer, trace } = world;
  const endRuns = number >= what.endsRunsFrom;
  trace?.add('', `migrate begins${endRuns ? ', and ends runs' : ''}`);
  let isOver = false;
  const end = (how: string): void => {
    if (isOver) return;
    isOver = true;
    trace?.add('', `migrate ${how}`);
    if (number >= what.diesAfter.length + REFUSED_AT_MOST) {
      for (const deployment of world.deployments) restartOnNext(world, deployment);
    }
    timeline.after(what.againAfterMs, () => {
      move(world, what, number + 1);
    });
  };
  const never = (code: string, message: string, job?: JobName): void => {
    const isStray = job !== undefined && observer.jobs.get(job)?.strayControl !== undefined;
    if (code === 'TwoRows' && isStray) removeControl(world, job);
    else if (NEVER.has(code)) observer.report('migrateRefused', 'all', message);
  };
  migrate({ ...desksOf(world, what.diesAfter[number], end), waitMs: WAIT_MS, endRuns, copied: () => undefined }).then(
    ({ settled, refused }) => {
      for (const { code, message, job } of refused) never(code, message, job);
      if (!settled) end(`is refused: ${refused.map(({ code }) => code).join(', ')}`);
      else if (!isOver) {
        isOver = true;
        world.migration = 'over';
        trace?.add('', 'all jobs have moved');
      }
    },
    (error: unknown) => {
      if (error instanceof OperatorError) never(error.code, error.message);
      else if (!(error instanceof StoreError)) observer.report('crashed', 'all', `migrate threw ${String(error)}`);
      end(`fails: ${String(error)}`);
    },
  );
}

/** A command that died has left a control where its job no longer is: people delete it, as the refusal says. */
function removeControl(world: World, job: JobName): void {
  const { store } = soundDesk(world, FIRST_STORE);
  const remove = async (): Promise<void> => {
    const { control } = await store.readControl(job);
    if (control !== undefined) await store.removeControl(job, control.etag);
  };
  remove().catch((error: unknown) => {
    world.observer.report('crashed', 'all', `a control could not be removed: ${String(error)}`);
  });
}

/**
 * The desks of one command, which ends early if its process dies.
 *
 * @param diesAfter the number of its calls. Undefined: its calls do not fail, and it does not die
 */
function desksOf(
  world: World,
  diesAfter: number | undefined,
  ended: (how: string) => void,
): Pick<Migration, 'from' | 'to'> {
  if (diesAfter === undefined) return { from: soundDesk(world, FIRST_STORE), to: soundDesk(world, NEXT_STORE) };
  let calls = 0;
  const { process, deskAt } = operatorOf(world, TRY_MS, () => {
    calls += 1;
    if (calls === diesAfter) process.kill();
  });
  const look = (): void => {
    world.timeline.after(LOOKS_EVERY_MS, () => {
      if (process.dead) ended('has died');
      else look();
    });
  };
  look();
  return { from: deskAt(FIRST_STORE), to: deskAt(NEXT_STORE) };
}

/** The connection of the former store is gone from the settings of all deployments. */
export function followMigration({ migration, deployments }: World): void {
  if (migration !== 'over') return;
  for (const deployment of deployments) deployment.home = NEXT_STORE;
}
