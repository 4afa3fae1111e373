import { setTimeout as sleep } from 'node:timers/promises';
import type { EpochMs, Millis } from '../../core/brand';
import { isoOf } from '../../core/iso';
import type { JobsFile } from '../../core/job';
import { RAN_OUTCOMES } from '../../core/outcome';
import { decodePresence } from '../../core/presence';
import type { LeaseStore } from '../../lease/store';
import { type Cluster, startCluster } from '../../local/cluster/cluster';
import { ClusterError } from '../../local/cluster/child';
import type { ClusterEvent } from '../../local/cluster/deployment';
import { DEFAULT_CONTAINER } from '../../stores/open';
import { openStore } from '../storage';
import {
  type Drilled,
  goingOn,
  isSameAttempt,
  nextClaim,
  type Records,
  type Span,
  type Step,
  undecided,
} from './judge';
import { listRuns } from '../../operator/views/runs';

export interface Subject {
  readonly folder: string;
  readonly jobs: JobsFile;
  /** The job whose run is interrupted; undefined: any. */
  readonly job: string | undefined;
  readonly said: string;
  /** Folders that are removed after the drill, however it ends. */
  readonly temporary: readonly string[];
}

interface DrillOptions {
  readonly subject: Subject;
  readonly instances: number;
  /** The longest wait for a run that can be interrupted, and for the end of the interrupted runs. */
  readonly waitMs: Millis;
  /** The longest wait for a take-over: more than its target. */
  readonly patienceMs: Millis;
  readonly onStep: (step: Step) => void;
  /** Gives up the drill. */
  readonly signal: AbortSignal;
}

/** A shorter run would be over before the kill. */
const GOES_ON_MS = 300;
const POLL_EVERY_MS = 100;
/** From the start of an instance to its first tick, on a busy machine. */
const TICKS_WITHIN_MS = 120_000;
/** The drill keeps watching for this long after the deployment's return. */
const AFTERWARDS_MS = 5_000;
const KILLED_WITHIN_MS = 30_000;
const RECORDS_AT_MOST = 20_000;
const RUN_ENDS: readonly string[] = RAN_OUTCOMES;

/**
 * Starts a cluster of an app on its own storage, kills the deployment that runs a job, watches until its work is done
 * elsewhere, and starts it again.
 *
 * @throws {@link ClusterError} when the drill could not be held
 */
export async function playDrill(options: DrillOptions): Promise<Drilled> {
  const events: ClusterEvent[] = [];
  const { folder, temporary } = options.subject;
  const cluster = await startCluster({
    app: folder,
    temporary,
    instances: options.instances,
    port: 0,
    storage: undefined,
    container: DEFAULT_CONTAINER,
    data: undefined,
    restart: false,
    inspect: false,
    strict: false,
    settings: {},
    prepare: (storage) => storeOf(storage).prepare(),
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

interface Scene {
  readonly options: DrillOptions;
  readonly cluster: Cluster;
  readonly store: LeaseStore;
  readonly events: readonly ClusterEvent[];
  /** Notes a step, and returns its time. */
  readonly say: (what: string) => EpochMs;
  /** Polls until `seen` returns a value, or the time is over. */
  readonly waitFor: <T>(limit: Millis, seen: () => T | undefined | Promise<T | undefined>) => Promise<T | undefined>;
}

async function play(options: DrillOptions, cluster: Cluster, events: readonly ClusterEvent[]): Promise<Drilled> {
  const steps: Step[] = [];
  const scene: Scene = {
    options,
    cluster,
    events,
    store: storeOf(cluster.storage),
    say(what) {
      const at = Date.now();
      const step = { at: isoOf(at), what };
      steps.push(step);
      options.onStep(step);
      return at;
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
  const { say, waitFor } = scene;
  const { deployments, ticking, from } = await untilAllTick(scene);
  const stopped = await interrupt(scene, from);
  const caughtUpAt = await watchTakeOver(scene, stopped, from);
  const backAt = await startAgain(scene, stopped.deployment, ticking.get(stopped.deployment));
  const span: Span = { from, until: Date.now() + AFTERWARDS_MS };
  await waitFor(AFTERWARDS_MS, () => undefined);
  say((await decided(scene, span)) === undefined ? 'some due times have no outcome' : 'every due time has its outcome');
  return { deployments, steps, events, stopped, caughtUpAt, backAt, span, records: await recordsOf(scene) };
}

async function untilAllTick({ cluster, store, say, waitFor }: Scene) {
  const deployments = cluster.instances().map(({ deployment }) => deployment);
  say(`${deployments.join(', ')} started, each in its own process`);
  const ticking = await waitFor(TICKS_WITHIN_MS, async () => {
    const found = await tickingIn(store);
    return deployments.every((name) => found.has(name)) ? found : undefined;
  });
  if (ticking === undefined) throw new ClusterError('The deployments started, but not all of them tick.');
  return { deployments, ticking, from: say('all deployments tick, and their task hubs work') };
}

async function interrupt(
  { options: { subject, waitMs }, events, say, waitFor }: Scene,
  from: EpochMs,
): Promise<Drilled['stopped']> {
  const run = await waitFor(waitMs, () => runToInterrupt(events, subject.job, from));
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
async function watchTakeOver(scene: Scene, stopped: Drilled['stopped'], from: EpochMs): Promise<EpochMs | undefined> {
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
function decided(scene: Scene, span: Span): Promise<EpochMs | undefined> {
  const { subject, patienceMs } = scene.options;
  return scene.waitFor(patienceMs, async () => {
    const left = undecided(subject.jobs.jobs, span, await recordsOf(scene));
    return left.length === 0 ? Date.now() : undefined;
  });
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
async function startAgain(
  { cluster, store, say, waitFor }: Scene,
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
    const instance = (await tickingIn(store)).get(deployment);
    return instance === before ? undefined : instance;
  });
  const at = say(ticks === undefined ? `${deployment} does not tick` : `${deployment} ticks again`);
  return ticks === undefined ? undefined : at;
}

function storeOf(storage: string): LeaseStore {
  return openStore({ storage, container: DEFAULT_CONTAINER });
}

/** The deployments whose ticks are recorded, each with the process that ticked. */
async function tickingIn(store: LeaseStore): Promise<ReadonlyMap<string, string>> {
  const { presences } = await store.listPresences();
  return new Map([...presences].map(([name, { metadata }]) => [name, decodePresence(metadata).instance]));
}

async function recordsOf({ store, options: { subject } }: Scene): Promise<Records> {
  const names = subject.jobs.jobs.map(({ name }) => name);
  return (await listRuns(store, names, await store.list(), RECORDS_AT_MOST)).records.map((record) => ({
    ...record,
    outcome: record.outcome === 'running' || record.outcome === 'retrying' ? null : record.outcome,
  }));
}
