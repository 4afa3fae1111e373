import { setTimeout as sleep } from 'node:timers/promises';
import type { EpochMs, Millis } from '../../core/brand';
import { RUN_FATES } from '../../core/fate';
import { type Cluster, startCluster } from './cluster';
import { ClusterError } from './cluster-error';
import type { ClusterEvent } from './deployment';

/** What the drill asks storage, which this room does not know. */
export interface DrillLedger<Records> {
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
  /** When the deployment that was stopped ticked again; undefined: it did not. */
  readonly backAt: EpochMs | undefined;
  /** Due times in it are judged. */
  readonly span: Span;
  readonly records: Records;
}

/** A run that lasts for less is over before it can be interrupted. */
const GOES_ON_MS = 300;
const LOOK_EVERY_MS = 100;
/** From the start of an instance to its first word, on a busy machine. */
const TICKS_WITHIN_MS = 120_000;
/** How long everything is watched once the deployment is back. */
const AFTERWARDS_MS = 5_000;
const KILLED_WITHIN_MS = 30_000;
const RUN_ENDS: readonly string[] = RUN_FATES;
const ATTEMPT_ENDS: readonly string[] = [...RUN_FATES, 'retrying', 'fannedOut', 'superseded'];

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
    instances: options.instances,
    port: 0,
    storage: undefined,
    container: options.container,
    data: undefined,
    restart: false,
    inspect: false,
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

async function play<Records>(
  options: DrillOptions<Records>,
  cluster: Cluster,
  events: readonly ClusterEvent[],
): Promise<Drilled<Records>> {
  const { job, waitMs, patienceMs, signal } = options;
  const ledger = options.ledger(cluster.storage);
  const steps: Step[] = [];
  const say = (what: string): EpochMs => {
    const step = { at: Date.now(), what };
    steps.push(step);
    options.onStep(step);
    return step.at;
  };
  /** Looks until there is something, or the time is over. */
  const look = async <T>(limit: Millis, seen: () => T | undefined | Promise<T | undefined>): Promise<T | undefined> => {
    const deadline = performance.now() + limit;
    for (;;) {
      if (signal.aborted) throw new ClusterError('The drill was given up.');
      const found = await seen();
      if (found !== undefined || performance.now() > deadline) return found;
      await sleep(LOOK_EVERY_MS);
    }
  };

  const names = cluster.instances().map(({ deployment }) => deployment);
  say(`${names.join(', ')} started, each a process of its own`);
  const ticking = await look(TICKS_WITHIN_MS, async () => {
    const found = await ledger.ticking();
    return names.every((name) => found.has(name)) ? found : undefined;
  });
  if (ticking === undefined) throw new ClusterError('The deployments started, and not all of them tick.');
  const from = say('all deployments tick, and their task hubs are proven');

  const run = await look(waitMs, () => runToInterrupt(events, job, from));
  if (run === undefined) {
    throw new ClusterError(
      `No run that can be interrupted was seen within ${waitMs / 1000} s: one that lasts for ${GOES_ON_MS} ms at least.`,
    );
  }
  const { deployment, pid, runId = '' } = run;
  process.kill(pid, 'SIGKILL');
  const stoppedAt = say(`${deployment} was killed (SIGKILL, process ${pid}) while it held run ${runId}`);
  // What it had still to say is said by then.
  await look(KILLED_WITHIN_MS, () => events.find((event) => event.event === 'instanceExited' && event.pid === pid));
  const claims = goingOn(events, deployment, stoppedAt);

  for (const claim of claims) {
    const next = await look(patienceMs, () => nextClaim(events, claim));
    if (next === undefined) say(`run ${claim.runId ?? ''} was not taken over within ${patienceMs / 1000} s`);
    else say(`run ${claim.runId ?? ''} was taken over by ${next.deployment}, token ${next.token ?? 0}`);
  }
  const isOver = ({ runId }: ClusterEvent): boolean =>
    events.some((event) => event.runId === runId && RUN_ENDS.includes(event.event));
  const over = await look(waitMs, () => (claims.every(isOver) ? true : undefined));
  say(over === true ? 'what was interrupted has ended' : `what was interrupted had not ended after ${waitMs / 1000} s`);

  const backAt = await startAgain(cluster, deployment, say, () =>
    look(TICKS_WITHIN_MS, async () => {
      const instance = (await ledger.ticking()).get(deployment);
      return instance === ticking.get(deployment) ? undefined : instance;
    }),
  );
  const span: Span = { from, until: Date.now() + AFTERWARDS_MS };
  await look(AFTERWARDS_MS, () => undefined);
  const decided = await look(patienceMs, async () => ((await ledger.undecided(span)) === 0 ? true : undefined));
  say(decided === true ? 'every due time has its fate' : 'some due times have no fate yet');
  const records = await ledger.read();
  const stopped = { deployment, pid, at: stoppedAt };
  return { deployments: names, steps, events, stopped, backAt, span, records };
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

async function startAgain(
  cluster: Cluster,
  deployment: string,
  say: (what: string) => EpochMs,
  ticksAgain: () => Promise<string | undefined>,
): Promise<EpochMs | undefined> {
  try {
    await cluster.start(deployment);
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    say(`${deployment} could not be started again: ${error.message}`);
    return undefined;
  }
  say(`${deployment} was started again`);
  if ((await ticksAgain()) === undefined) {
    say(`${deployment} does not tick`);
    return undefined;
  }
  return say(`${deployment} ticks again`);
}
