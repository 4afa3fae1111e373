import { setTimeout as sleep } from 'node:timers/promises';
import type { EpochMs, Millis } from '../../core/brand';
import { RAN_OUTCOMES } from '../../core/outcome';
import { type Cluster, startCluster } from '../../local/cluster/cluster';
import { ClusterError } from '../../local/cluster/child';
import type { ClusterEvent } from '../../local/cluster/deployment';
import { ATTEMPT_ENDS } from '../dev/event-line';

/** The coordination storage, as the drill uses it. */
export interface DrillLedger<Records> {
  /** Called first. */
  prepare(): Promise<void>;
  /** The deployments whose ticks are recorded, each with the process that ticked. */
  ticking(): Promise<ReadonlyMap<string, string>>;
  /** The number of due times in a span without an outcome. */
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
  /** For `startCluster`. */
  readonly temporary: readonly string[];
  readonly instances: number;
  readonly container: string;
  /** The job whose run the drill interrupts; undefined: any. */
  readonly job: string | undefined;
  /** The longest wait for a run that can be interrupted, and for the end of the interrupted runs. */
  readonly waitMs: Millis;
  /** The longest wait for a take-over: more than its target. */
  readonly patienceMs: Millis;
  readonly ledger: (storage: string) => DrillLedger<Records>;
  readonly onStep: (step: Step) => void;
  /** Gives up the drill. */
  readonly signal: AbortSignal;
}

/** A step of the drill, with its time by this machine's clock. */
export interface Step {
  readonly at: EpochMs;
  readonly what: string;
}

export interface Drilled<Records> {
  readonly deployments: readonly string[];
  readonly steps: readonly Step[];
  readonly events: readonly ClusterEvent[];
  readonly stopped: { readonly deployment: string; readonly pid: number; readonly at: EpochMs };
  /** When every due time before the end of the interrupted runs had its outcome; undefined: never. */
  readonly caughtUpAt: EpochMs | undefined;
  /** When the killed deployment ticked again; undefined: it did not. */
  readonly backAt: EpochMs | undefined;
  /** The span whose due times are judged. */
  readonly span: Span;
  readonly records: Records;
}

/** A shorter run would be over before the kill. */
const GOES_ON_MS = 300;
const POLL_EVERY_MS = 100;
/** From the start of an instance to its first tick, on a busy machine. */
const TICKS_WITHIN_MS = 120_000;
/** The drill keeps watching for this long after the deployment's return. */
const AFTERWARDS_MS = 5_000;
const KILLED_WITHIN_MS = 30_000;
const RUN_ENDS: readonly string[] = RAN_OUTCOMES;

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
 * Starts a cluster of an app on its own storage, kills the deployment that runs a job, watches until its work is done
 * elsewhere, and starts it again.
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

/** The objects that every part of a drill needs. */
interface Scene<Records> {
  readonly options: DrillOptions<Records>;
  readonly cluster: Cluster;
  readonly events: readonly ClusterEvent[];
  readonly ledger: DrillLedger<Records>;
  /** Notes a step, and returns its time. */
  readonly say: (what: string) => EpochMs;
  /** Polls until `seen` returns a value, or the time is over. */
  readonly waitFor: <T>(limit: Millis, seen: () => T | undefined | Promise<T | undefined>) => Promise<T | undefined>;
}

async function play<Records>(
  options: DrillOptions<Records>,
  cluster: Cluster,
  events: readonly ClusterEvent[],
): Promise<Drilled<Records>> {
  const steps: Step[] = [];
  const scene: Scene<Records> = {
    options,
    cluster,
    events,
    ledger: options.ledger(cluster.storage),
    say(what) {
      const step = { at: Date.now(), what };
      steps.push(step);
      options.onStep(step);
      return step.at;
    },
    async waitFor(limit, seen) {
      const deadline = performance.now() + limit;
      for (;;) {
        if (options.signal.aborted) throw new ClusterError('The drill was stopped.');
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
  say((await decided(scene, span)) === undefined ? 'some due times have no outcome' : 'every due time has its outcome');
  return { deployments, steps, events, stopped, caughtUpAt, backAt, span, records: await ledger.read() };
}

async function untilAllTick<Records>({ cluster, ledger, say, waitFor }: Scene<Records>): Promise<{
  readonly deployments: readonly string[];
  readonly ticking: ReadonlyMap<string, string>;
  readonly from: EpochMs;
}> {
  const deployments = cluster.instances().map(({ deployment }) => deployment);
  say(`${deployments.join(', ')} started, each in its own process`);
  const ticking = await waitFor(TICKS_WITHIN_MS, async () => {
    const found = await ledger.ticking();
    return deployments.every((name) => found.has(name)) ? found : undefined;
  });
  if (ticking === undefined) throw new ClusterError('The deployments started, but not all of them tick.');
  return { deployments, ticking, from: say('all deployments tick, and their task hubs work') };
}

async function interrupt<Records>(
  { options: { job, waitMs }, events, say, waitFor }: Scene<Records>,
  from: EpochMs,
): Promise<Drilled<Records>['stopped']> {
  const run = await waitFor(waitMs, () => runToInterrupt(events, job, from));
  if (run === undefined) {
    throw new ClusterError(
      `No run lasted long enough to be interrupted within ${waitMs / 1000} s: it must last ${GOES_ON_MS} ms at least.`,
    );
  }
  const { deployment, pid, runId = '' } = run;
  process.kill(pid, 'SIGKILL');
  const at = say(`${deployment} was killed (SIGKILL, process ${pid}) while it held run ${runId}`);
  // Its last events have arrived by then.
  await waitFor(KILLED_WITHIN_MS, () => events.find((event) => event.event === 'instanceExited' && event.pid === pid));
  return { deployment, pid, at };
}

/** Waits until the interrupted runs have ended and the due times meanwhile are decided. Returns when they were. */
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
  const had = over === true ? 'have ended' : `had not ended after ${waitMs / 1000} s`;
  const caughtUpAt = await decided(scene, { from, until: say(`the interrupted runs ${had}`) });
  say(
    caughtUpAt === undefined ? 'some due times until then have no outcome' : 'each due time until then has its outcome',
  );
  return caughtUpAt;
}

/** Waits until every due time of a span has its outcome, and returns when that was; undefined: not in time. */
function decided<Records>(
  { options: { patienceMs }, ledger, waitFor }: Scene<Records>,
  span: Span,
): Promise<EpochMs | undefined> {
  return waitFor(patienceMs, async () => ((await ledger.undecided(span)) === 0 ? Date.now() : undefined));
}

/** A run that has lasted for a moment. */
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

/** Restarts the deployment. Returns when it ticked again; undefined: it does not. */
async function startAgain<Records>(
  { cluster, ledger, say, waitFor }: Scene<Records>,
  deployment: string,
  before: string | undefined,
): Promise<EpochMs | undefined> {
  try {
    await cluster.start(deployment);
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    say(`${deployment} could not be restarted: ${error.message}`);
    return undefined;
  }
  say(`${deployment} was restarted`);
  const ticks = await waitFor(TICKS_WITHIN_MS, async () => {
    const instance = (await ledger.ticking()).get(deployment);
    return instance === before ? undefined : instance;
  });
  const at = say(ticks === undefined ? `${deployment} does not tick` : `${deployment} ticks again`);
  return ticks === undefined ? undefined : at;
}
