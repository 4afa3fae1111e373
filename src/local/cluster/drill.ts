import { setTimeout as sleep } from 'node:timers/promises';
import type { EpochMs, Millis } from '../../core/brand';
import { RUN_FATES } from '../../core/fate';
import { type Cluster, startCluster } from './cluster';
import { ClusterError } from './cluster-error';
import type { ClusterEvent } from './deployment';
import { ATTEMPT_ENDS } from './event-line';

/** What the drill asks storage, which this room does not know. */
export interface DrillLedger<Records> {
  /** Before anything is asked. */
  prepare(): Promise<void>;
  /** The deployments that have said that they tick, each with the process that said so. */
  ticking(): Promise<ReadonlyMap<string, string>>;
  /** How many due times of a span have no fate yet. */
  undecided(span: Span): Promise<number>;
  read(): Promise<Records>;
}

export interface Span {
  readonly from: EpochMs;
  readonly until: EpochMs;
}

export interface DrillOptions<Records> {
  /** Absolute path of the app's folder. */
  readonly app: string;
  /** As `startCluster` takes them. */
  readonly temporary: readonly string[];
  readonly instances: number;
  readonly container: string;
  /** The job whose run is to be interrupted; undefined: any. */
  readonly job: string | undefined;
  /** How long to wait for a run that can be interrupted, and for the end of what was interrupted. */
  readonly waitMs: Millis;
  /** How long to watch for a take-over: more than it may take. */
  readonly patienceMs: Millis;
  readonly ledger: (storage: string) => DrillLedger<Records>;
  /** Said as it is done. */
  readonly onStep: (step: Step) => void;
  /** Gives up the drill. */
  readonly signal: AbortSignal;
}

/** What was done, or seen, and when by this machine's clock. */
export interface Step {
  readonly at: EpochMs;
  readonly what: string;
}

/** All that a drill has left behind. */
export interface Drilled<Records> {
  readonly deployments: readonly string[];
  readonly steps: readonly Step[];
  readonly events: readonly ClusterEvent[];
  readonly stopped: { readonly deployment: string; readonly pid: number; readonly at: EpochMs };
  /** When every due time that came before the end of what was interrupted had its fate; undefined: never. */
  readonly caughtUpAt: EpochMs | undefined;
  /** When the deployment that was stopped ticked again; undefined: it did not. */
  readonly backAt: EpochMs | undefined;
  /** Due times in it are judged. */
  readonly span: Span;
  readonly records: Records;
}

/** A run that lasts for less is over before it can be interrupted. */
const GOES_ON_MS = 300;
const POLL_EVERY_MS = 100;
/** From the start of an instance to its first word, on a busy machine. */
const TICKS_WITHIN_MS = 120_000;
/** How long everything is watched once the deployment is back. */
const AFTERWARDS_MS = 5_000;
const KILLED_WITHIN_MS = 30_000;
const RUN_ENDS: readonly string[] = RUN_FATES;

/** The claims of one deployment whose attempts had not ended, by its events until then. */
export function goingOn(events: readonly ClusterEvent[], deployment: string, until: EpochMs): readonly ClusterEvent[] {
  const mine = events.filter((event) => event.deployment === deployment && Date.parse(event.at) <= until);
  return mine
    .filter(({ event }) => event === 'claimed' || event === 'takenOver')
    .filter((claim) => !mine.some((other) => ATTEMPT_ENDS.includes(other.event) && isSameAttempt(other, claim)));
}

function isSameAttempt(one: ClusterEvent, other: ClusterEvent): boolean {
  return one.runId === other.runId && one.token === other.token;
}

/** The next claim of a run that was interrupted. */
export function nextClaim(events: readonly ClusterEvent[], claim: ClusterEvent): ClusterEvent | undefined {
  return events.find(
    ({ event, runId, token = 0 }) =>
      (event === 'claimed' || event === 'takenOver') && runId === claim.runId && token > (claim.token ?? 0),
  );
}

/**
 * Starts a cluster of an app on storage of its own, kills the deployment that runs a job, watches until its work is
 * done elsewhere, and starts it again.
 *
 * @throws {@link ClusterError} when the drill could not be held
 */
export async function playDrill<Records>(options: DrillOptions<Records>): Promise<Drilled<Records>> {
  const events: ClusterEvent[] = [];
  const cluster = await startCluster({
    app: options.app,
    temporary: options.temporary,
    instances: options.instances,
    port: 0,
    storage: undefined,
    container: options.container,
    data: undefined,
    restart: false,
    inspect: false,
    strict: false,
    settings: {},
    prepare: (storage) => options.ledger(storage).prepare(),
    onEvent: (event) => void events.push(event),
    onLog: () => undefined,
    signal: options.signal,
  });
  try {
    const drilled = await Promise.race([play(options, cluster, events), cluster.failed]);
    await cluster.stop();
    return drilled;
  } catch (error) {
    await cluster.kill();
    throw error;
  }
}

/** What every part of a drill needs. */
interface Scene<Records> {
  readonly options: DrillOptions<Records>;
  readonly cluster: Cluster;
  readonly events: readonly ClusterEvent[];
  readonly ledger: DrillLedger<Records>;
  /** Notes a step, and returns when that was. */
  readonly say: (what: string) => EpochMs;
  /** Polls until there is something, or the time is over. */
  readonly waitFor: <T>(limit: Millis, seen: () => T | undefined | Promise<T | undefined>) => Promise<T | undefined>;
}

async function play<Records>(
  options: DrillOptions<Records>,
  cluster: Cluster,
  events: readonly ClusterEvent[],
): Promise<Drilled<Records>> {
  const steps: Step[] = [];
  const scene: Scene<Records> = {
    ...{ options, cluster, events, ledger: options.ledger(cluster.storage) },
    say(what) {
      const step = { at: Date.now(), what };
      steps.push(step);
      options.onStep(step);
      return step.at;
    },
    async waitFor(limit, seen) {
      const deadline = performance.now() + limit;
      for (;;) {
        if (options.signal.aborted) throw new ClusterError('The drill was given up.');
        const found = await seen();
        if (found !== undefined || performance.now() > deadline) return found;
        await sleep(POLL_EVERY_MS);
      }
    },
  };
  const { ledger, say, waitFor } = scene;
  const { deployments, ticking, from } = await untilAllTick(scene);
  const stopped = await interrupt(scene, from);
  const caughtUpAt = await watchTakeOver(scene, stopped, from);
  const backAt = await startAgain(scene, stopped.deployment, ticking.get(stopped.deployment));
  const span: Span = { from, until: Date.now() + AFTERWARDS_MS };
  await waitFor(AFTERWARDS_MS, () => undefined);
  say((await decided(scene, span)) === undefined ? 'some due times have no fate' : 'every due time has its fate');
  return { deployments, steps, events, stopped, caughtUpAt, backAt, span, records: await ledger.read() };
}

async function untilAllTick<Records>({ cluster, ledger, say, waitFor }: Scene<Records>): Promise<{
  readonly deployments: readonly string[];
  readonly ticking: ReadonlyMap<string, string>;
  readonly from: EpochMs;
}> {
  const deployments = cluster.instances().map(({ deployment }) => deployment);
  say(`${deployments.join(', ')} started, each a process of its own`);
  const ticking = await waitFor(TICKS_WITHIN_MS, async () => {
    const found = await ledger.ticking();
    return deployments.every((name) => found.has(name)) ? found : undefined;
  });
  if (ticking === undefined) throw new ClusterError('The deployments started, and not all of them tick.');
  return { deployments, ticking, from: say('all deployments tick, and their task hubs are proven') };
}

/** Kills the deployment that runs a job. */
async function interrupt<Records>(
  { options: { job, waitMs }, events, say, waitFor }: Scene<Records>,
  from: EpochMs,
): Promise<Drilled<Records>['stopped']> {
  const run = await waitFor(waitMs, () => runToInterrupt(events, job, from));
  if (run === undefined) {
    throw new ClusterError(
      `No run that can be interrupted was seen within ${waitMs / 1000} s: one that lasts for ${GOES_ON_MS} ms at least.`,
    );
  }
  const { deployment, pid, runId = '' } = run;
  process.kill(pid, 'SIGKILL');
  const at = say(`${deployment} was killed (SIGKILL, process ${pid}) while it held run ${runId}`);
  // What it had still to say is said by then.
  await waitFor(KILLED_WITHIN_MS, () => events.find((event) => event.event === 'instanceExited' && event.pid === pid));
  return { deployment, pid, at };
}

/** Until what was interrupted has ended, and what came due meanwhile is decided. Returns when that was. */
async function watchTakeOver<Records>(
  scene: Scene<Records>,
  stopped: Drilled<Records>['stopped'],
  from: EpochMs,
): Promise<EpochMs | undefined> {
  const { events, say, waitFor } = scene;
  const { waitMs, patienceMs } = scene.options;
  const claims = goingOn(events, stopped.deployment, stopped.at);
  for (const claim of claims) {
    const { runId = '' } = claim;
    const next = await waitFor(patienceMs, () => nextClaim(events, claim));
    if (next === undefined) say(`run ${runId} was not taken over within ${patienceMs / 1000} s`);
    else say(`run ${runId} was taken over by ${next.deployment}, token ${next.token ?? 0}`);
  }
  const isOver = ({ runId }: ClusterEvent): boolean =>
    events.some((event) => event.runId === runId && RUN_ENDS.includes(event.event));
  const over = await waitFor(waitMs, () => (claims.every(isOver) ? true : undefined));
  const had = over === true ? 'has ended' : `had not ended after ${waitMs / 1000} s`;
  const caughtUpAt = await decided(scene, { from, until: say(`what was interrupted ${had}`) });
  say(`what was due until then ${caughtUpAt === undefined ? 'has not got all its fates' : 'has its fate'}`);
  return caughtUpAt;
}

/** When everything that was due in a span has its fate; undefined: not in time. */
function decided<Records>(
  { options: { patienceMs }, ledger, waitFor }: Scene<Records>,
  span: Span,
): Promise<EpochMs | undefined> {
  return waitFor(patienceMs, async () => ((await ledger.undecided(span)) === 0 ? Date.now() : undefined));
}

/** A run that has gone on for a moment. */
function runToInterrupt(
  events: readonly ClusterEvent[],
  job: string | undefined,
  from: EpochMs,
): ClusterEvent | undefined {
  const now = Date.now();
  return events.find(
    (event) =>
      event.event === 'started' &&
      (job === undefined || event.job === job) &&
      Date.parse(event.at) >= from &&
      now - Date.parse(event.at) >= GOES_ON_MS &&
      goingOn(events, event.deployment, now).some((claim) => isSameAttempt(claim, event)),
  );
}

/** Returns when it ticked again; undefined: it does not. */
async function startAgain<Records>(
  { cluster, ledger, say, waitFor }: Scene<Records>,
  deployment: string,
  before: string | undefined,
): Promise<EpochMs | undefined> {
  try {
    await cluster.start(deployment);
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    say(`${deployment} could not be started again: ${error.message}`);
    return undefined;
  }
  say(`${deployment} was started again`);
  const ticks = await waitFor(TICKS_WITHIN_MS, async () => {
    const instance = (await ledger.ticking()).get(deployment);
    return instance === before ? undefined : instance;
  });
  const at = say(ticks === undefined ? `${deployment} does not tick` : `${deployment} ticks again`);
  return ticks === undefined ? undefined : at;
}
