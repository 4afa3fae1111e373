import { ForeignMetadataError } from '../../../src/core/metadata';
import { type LeaseStore, StoreError } from '../../../src/lease/store';
import { OperatorError } from '../../../src/operator/operator-error';
import type { LeaseTaker } from '../../../src/operator/operations/take-lease';
import { seededBy } from '../faults/random';
import { type Network, storeOver } from './network';
import { openAccount } from './account';
import { FIRST_STORE, NEXT_STORE } from './facts';
import { type SimulatedProcess, createProcess } from './process';
import { OPERATOR, START, type World } from './world';

/** The longest time until a call arrives, if it does. */
export const ARRIVES_WITHIN_MS = 61_000;

/** One command of a person. A refusal is a valid answer, and so is unreachable storage where faults allow it. */
export function operate(
  world: World,
  act: (store: LeaseStore, desk: LeaseTaker) => Promise<unknown>,
  // No command continues after the end of the faults.
  lasts = world.plan.troubledMs - world.timeline.now(),
): void {
  // People wait with their commands while jobs move.
  const before = world.migration;
  if (before === 'moving') return;
  const location = before === 'over' ? NEXT_STORE : FIRST_STORE;
  const mayFail = world.troubled && world.plan.people === true;
  const operator = mayFail ? operatorOf(world, lasts) : undefined;
  const desk = operator?.deskAt(location) ?? deskAt(world.storeAt(location), systemOf(world), 0);
  const ended = (): void => {
    if (operator !== undefined) world.observer.commandEnded(operator.process.id);
  };
  act(desk.store, desk).then(ended, (error: unknown) => {
    if (error instanceof OperatorError) return;
    if (mayFail && error instanceof StoreError) return;
    const isSpoiled = [...world.observer.jobs.values()].some(({ spoiled }) => spoiled.length > 0);
    // It began before the jobs moved, and its process slept until they had.
    const hasMoved = world.migration !== before;
    if (error instanceof ForeignMetadataError && (isSpoiled || hasMoved)) return;
    const kind = error instanceof StoreError || error instanceof ForeignMetadataError ? 'operatorFailed' : 'crashed';
    world.observer.report(kind, 'all', `an operator's call failed: ${String(error)}`);
  });
}

/** The desk of a person whose calls do not fail. */
export function soundDesk(world: World, location = FIRST_STORE): LeaseTaker {
  world.operators += 1;
  return deskAt(world.storeAt(location), systemOf(world), world.operators);
}

/** The objects for a command that takes leases. */
function deskAt(store: LeaseStore, { clock }: SimulatedProcess, operator: number): LeaseTaker {
  let ids = 0;
  return {
    store,
    clock,
    newId: () => {
      ids += 1;
      return `${String(operator).padStart(8, '0')}-0000-4000-8000-${String(ids).padStart(12, '0')}`;
    },
    waiting: () => undefined,
  };
}

function systemOf({ timeline }: World): SimulatedProcess {
  return createProcess(OPERATOR.id, timeline, START, { skewMs: 0, drift: 0 });
}

/** The machine of an operator may have a wrong clock, and its login may lack a role. */
const OPERATOR_SKEWS = [0, 0, 2_500, -30_000, 3_600_000, -3_600_000] as const;
const LACKS_ROLE = 0.05;

/** A command at work. */
export interface OperatorProcess {
  readonly process: SimulatedProcess;
  deskAt(location: string): LeaseTaker;
}

/**
 * A command runs as a separate process, which is not restarted if it dies.
 *
 * @param called sees each of its calls as it is sent
 */
export function operatorOf(world: World, lasts: number, called: () => void = () => undefined): OperatorProcess {
  const { timeline, trace, faults, counts, observer, serviceAt, plan } = world;
  world.operators += 1;
  const random = seededBy(plan.seed, 'operator', world.operators);
  const isDenied = random.chance(LACKS_ROLE);
  const actor = { ...OPERATOR, id: `operator#${String(world.operators)}`, views: new Map() };
  const process = createProcess(actor.id, timeline, START, { skewMs: random.pick(OPERATOR_SKEWS), drift: 0 });
  const network: Network = {
    timeline,
    trace,
    calls: faults.stream(actor.id),
    slowMs: 0,
    outage: () => world.gone ?? world.outage,
    era: () => timeline.leapt() + world.failovers,
    denied: () => isDenied,
    crash: () => {
      trace?.add(actor.id, 'killed');
      process.kill();
    },
    pause: (lasts, asleep) => {
      process.pause(asleep);
      timeline.after(lasts, process.wake);
    },
    called: () => {
      counts.calls += 1;
      called();
    },
  };
  timeline.after(lasts, process.kill);
  const { operators } = world;
  const storeAt = (location: string): LeaseStore =>
    storeOver(
      network,
      process,
      observer.watch(
        openAccount(serviceAt(location), () => world.gone),
        actor,
      ),
      {
        sent: () => undefined,
        listed: () => undefined,
      },
    );
  return { process, deskAt: (location) => deskAt(storeAt(location), process, operators) };
}
