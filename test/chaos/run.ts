import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Guard } from '../../src/local/cluster/child';
import { type BackfillSpan, dueTimes, type Evidence, outcomesOf, type Span } from './evidence';
import { isFilled } from './backfills';
import { groupsOf, jobsOf } from './jobs';
import { untold } from './notices';
import { type Row, rowOf } from './row';
import type { Scenario } from './scenario';
import { DeadlineError, pause, trueNow, until } from './time';
import type { StoreName } from './storage';
import { startWorld, type World } from './world';

const BOOTS = 4;
/** So long before the first tick all instances have loaded, also those whose clock is a little ahead. */
const READY_BEFORE_MS = 400;
const LONG_AFTER_TICK_MS = 5_000;
const STEADY_WITHIN_MS = 60_000;
/** Undisturbed time at the end. */
const CALM_MS = 3_000;
const SPAN_AT_LEAST_MS = 15_000;
/** A due time whose job is claimed only rarely is recorded by the job's next claim, or after a sweep interval. */
const DECIDED_WITHIN_MS = 90_000;
/** No one else sends a dead sender's notice within 90 s. Then comes a sweep, and a try that is refused. */
const DELIVERED_WITHIN_MS = 90_000 + 60_000 + 60_000;

export interface RunOptions {
  /** Absolute: a new folder is made in it. */
  readonly folder: string;
  readonly store: StoreName;
  readonly guard: Guard;
  readonly signal: AbortSignal;
  /** Lets one after another start its processes. */
  readonly inTurn: <T>(boot: () => Promise<T>) => Promise<T>;
}

/** Plays one scenario in its own world. A scenario that cannot be played to its end is a row that says why. */
export async function runScenario(scenario: Scenario, options: RunOptions): Promise<Row> {
  const begun = performance.now();
  const seconds = (): number => (performance.now() - begun) / 1000;
  const folder = path.join(options.folder, scenario.name);
  let world: World | undefined;
  try {
    world = await options.inTurn(() => boot(scenario, folder, options));
    const evidence = await play(scenario, world);
    const row = rowOf(scenario, evidence, seconds());
    if (row.misses.length === 0) rmSync(folder, { recursive: true, force: true });
    else writeFileSync(path.join(folder, 'evidence.json'), JSON.stringify(evidence, undefined, 1));
    return row;
  } catch (error) {
    if (options.signal.aborted) throw error;
    if (!(error instanceof DeadlineError)) console.error(error);
    return rowOf(scenario, undefined, seconds(), error instanceof Error ? error.message : String(error));
  } finally {
    await world?.kill();
  }
}

/** How long the processes of a world take to start, as it was last seen: the first tick is to find all of them. */
let bootLastsMs = 4_000;

async function boot(scenario: Scenario, folder: string, options: RunOptions): Promise<World> {
  for (let turn = 0; turn < BOOTS; turn += 1) {
    const begun = trueNow();
    const firstTick = Math.ceil((begun + bootLastsMs) / 1000) * 1000;
    const second = new Date(firstTick).getUTCSeconds() % 15;
    const world = await startWorld({
      folder: path.join(folder, String(turn)),
      jobs: jobsOf(scenario, firstTick + LONG_AFTER_TICK_MS),
      groups: groupsOf(scenario),
      tick: `${[0, 15, 30, 45].map((quarter) => String(second + quarter)).join(',')} * * * * *`,
      clockShiftsMs: scenario.clockShiftsMs ?? [0, 0, 0],
      store: options.store,
      keepsFiles: scenario.keepsFiles ?? false,
      otherBuild: scenario.otherBuild ?? [],
      hasReceiver: scenario.load === 'told',
      hasTarget: scenario.load === 'polled',
      guard: options.guard,
      signal: options.signal,
    });
    bootLastsMs = Math.max(4_000, 1.5 * (trueNow() - begun));
    if (trueNow() < firstTick - READY_BEFORE_MS) return world;
    await world.kill();
  }
  throw new DeadlineError(`a start in time for the first tick did not come about in ${String(BOOTS)} turns`);
}

async function play(scenario: Scenario, world: World): Promise<Evidence> {
  await until('a steady start', STEADY_WITHIN_MS, () => (isSteady(world) ? true : undefined), world.signal);
  const from = trueNow();
  const acted = await scenario.act(world);
  const span = { from, until: Math.max(trueNow() + CALM_MS, from + SPAN_AT_LEAST_MS) };
  await pause(span.until - trueNow(), world.signal);
  const ledger = await decided(world, span, acted.backfill);
  const told = world.hasReceiver ? await delivered(world, { ledger, span }) : undefined;
  await world.stop();
  const { jobs, events, traffic } = world;
  return { jobs, span, notes: world.notes(), events, ledger, traffic, told, ...acted };
}

/** What has come to the receiver once it has every notice of the span, or when that takes too long. */
async function delivered(world: World, evidence: Pick<Evidence, 'ledger' | 'span'>): Promise<Evidence['told']> {
  const { told } = world.receiver();
  const deadline = performance.now() + DELIVERED_WITHIN_MS;
  while (untold({ ...evidence, told }).length > 0 && performance.now() < deadline) await pause(500, world.signal);
  return [...told];
}

/** Every deployment ticks, and the quick jobs run. */
function isSteady(world: World): boolean {
  const notes = world.notes();
  return (
    world.deployments.every((deployment) =>
      world.traffic.some((one) => one.deployment === deployment && one.call.kind === 'list' && one.status === 200),
    ) &&
    world.jobs
      .filter(({ name }) => name.startsWith('quick-'))
      .every(({ name }) => notes.some(({ job, what }) => job === name && what === 'ended'))
  );
}

/** The ledger once every due time, of a back-fill too, has an outcome in it, or as it is when that takes too long. */
async function decided(world: World, span: Span, backfill?: BackfillSpan): Promise<Evidence['ledger']> {
  let ledger = await world.ledger();
  const missing = (): boolean =>
    (backfill !== undefined && !isFilled({ jobs: world.jobs, ledger }, backfill)) ||
    dueTimes(world.jobs, span).some(({ job, due }) => outcomesOf(ledger, job, due).length === 0);
  const deadline = performance.now() + DECIDED_WITHIN_MS;
  while (missing() && performance.now() < deadline) {
    await pause(500, world.signal);
    ledger = await world.ledger();
  }
  return ledger;
}
