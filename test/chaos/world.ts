import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { loadJobs } from '../../src/config/load';
import type { JobSpec } from '../../src/core/job';
import { openStore } from '../../src/stores/open';
import { systemClock } from '../../src/system-clock';
import type { LeaseStore } from '../../src/lease/store';
import type { ClusterEvent } from '../../src/local/cluster/deployment';
import type { Guard } from '../../src/local/cluster/child';
import type { Note } from './app/note';
import type { Answered, Call } from './calls';
import type { LedgerLine } from './evidence';
import { createHolds, type Hold, type HoldAt } from './hold';
import { type Instance, startInstance } from './instance';
import { type Proxy, startProxy } from './proxy';
import { type Receiver, startReceiver } from './receiver';
import { CONTAINER, type Storage, type StoreName, STORES } from './storage';
import { inTime, trueNow, until } from './time';
import { startTarget } from './waiting';

const NOTES = 'notes.jsonl';
/** Folder of the other build's app, in the world's. */
const OTHER = 'other';
/** As `cronlease dev` sets one: without it, every receiver and target must have TLS. */
const DEV_SECRET = 's'.repeat(32);
const BOOT_MS = 60_000;
const END_MS = 20_000;
const GRACE_TO_EXIT_MS = 15_000;

export interface WorldOptions {
  /** Absolute; it is made here. */
  readonly folder: string;
  readonly jobs: Readonly<Record<string, object>>;
  readonly groups: Readonly<Record<string, object>> | undefined;
  /** Seconds of the minute at which the tick timer fires. */
  readonly tick: string;
  /** One deployment for each: how far its clock is ahead, in ms. */
  readonly clockShiftsMs: readonly number[];
  readonly store: StoreName;
  /** Whether the emulator keeps its data in files, as other servers always do. */
  readonly keepsFiles: boolean;
  /** Deployments that run the other build. */
  readonly otherBuild: readonly string[];
  /** Whether there is a receiver of notices. */
  readonly hasReceiver: boolean;
  /** Whether there is a target of calls. */
  readonly hasTarget: boolean;
  readonly guard: Guard;
  readonly signal: AbortSignal;
}

/** Several deployments with an instance each, every one behind its own proxy, on one server: all real processes. */
export interface World {
  readonly jobs: readonly JobSpec[];
  readonly deployments: readonly string[];
  readonly signal: AbortSignal;
  readonly events: readonly ClusterEvent[];
  /** What storage has answered so far. */
  readonly traffic: readonly Answered[];
  readonly hasReceiver: boolean;
  /** @throws Error if there is none */
  receiver(): Receiver;
  instance(deployment: string): Instance;
  proxy(deployment: string): Proxy;
  /** Starts an instance of it again. Resolves when it answers. */
  restart(deployment: string): Promise<Instance>;
  hold(at: HoldAt, fits: (call: Call) => boolean): Hold;
  notes(): readonly Note[];
  /** The first note that fits. */
  note(what: string, withinMs: number, fits: (note: Note) => boolean): Promise<Note>;
  ledger(): Promise<LedgerLine[]>;
  readonly storage: Storage;
  /** Drains all instances and ends the server. */
  /** Opens the storage as a person's command does, past all proxies. */
  store(): LeaseStore;
  stop(): Promise<void>;
  /** Ends everything at once. Never rejects. */
  kill(): Promise<void>;
}

export async function startWorld(options: WorldOptions): Promise<World> {
  const { folder, guard, signal } = options;
  prepareFolder(options);
  const readNotes = appendedLines<Note>(path.join(folder, NOTES));
  const data = options.keepsFiles || options.store !== 'blobs' ? path.join(folder, 'data') : undefined;
  const traffic: Answered[] = [];
  const holds = createHolds();
  const proxies = new Map<string, Proxy>();
  const storage = await STORES[options.store](data, guard);
  const receiver = options.hasReceiver ? await startReceiver() : undefined;
  const target = options.hasTarget ? await startTarget(path.join(folder, NOTES)) : undefined;
  const fleet = createFleet(options, (deployment) => ({
    CRONLEASE_STORAGE__blobServiceUri: '',
    ...storage.settings(get(proxies, deployment).port),
    ...receiverSettings(receiver),
    ...(target === undefined ? {} : { CHAOS_TARGET: target.url, CRONLEASE_DEV_SECRET: DEV_SECRET }),
  }));

  const world: World = {
    jobs: loadJobs(fileOf(options)).jobsFile.jobs,
    deployments: fleet.deployments,
    signal,
    events: fleet.events,
    traffic,
    hasReceiver: receiver !== undefined,
    receiver() {
      if (receiver === undefined) throw new Error('there is no receiver of notices');
      return receiver;
    },
    instance: fleet.instance,
    proxy: (deployment) => get(proxies, deployment),
    restart: fleet.launch,
    hold: holds.hold,
    notes: readNotes,
    note: (what, withinMs, fits) => until(what, withinMs, () => readNotes().find(fits), signal),
    ledger: () => storage.ledger(),
    storage,
    store: () => openStore({ settings: storage.settings(storage.port()), container: CONTAINER, clock: systemClock }),
    async stop() {
      await inTime(
        'the end of all instances',
        GRACE_TO_EXIT_MS,
        fleet.end((instance) => instance.stop()),
        signal,
      );
      await world.kill();
    },
    async kill() {
      for (const proxy of proxies.values()) proxy.close();
      receiver?.close();
      target?.close();
      const ended = Promise.all([fleet.end((instance) => instance.signal('SIGKILL')), storage.kill()]);
      await inTime('the end of all processes', END_MS, ended).catch(() => undefined);
    },
  };
  try {
    for (const deployment of fleet.deployments) {
      proxies.set(deployment, await startProxy(watching(deployment, storage, holds, traffic)));
    }
    await Promise.all(fleet.deployments.map((deployment) => fleet.launch(deployment)));
  } catch (error) {
    await world.kill();
    throw error;
  }
  return world;
}

interface Fleet {
  readonly deployments: readonly string[];
  readonly events: readonly ClusterEvent[];
  /** The latest of a deployment. */
  instance(deployment: string): Instance;
  /** Starts one. Resolves when it answers. */
  launch(deployment: string): Promise<Instance>;
  /** Does this to all, and waits for their ends. */
  end(how: (instance: Instance) => void): Promise<unknown>;
}

/** @param connect - the settings by which a deployment reaches the others of this world */
function createFleet(
  { folder, tick, clockShiftsMs, otherBuild, guard, signal }: WorldOptions,
  connect: (deployment: string) => Record<string, string>,
): Fleet {
  const shifts = new Map(clockShiftsMs.map((shift, index) => [`d${String(index + 1)}`, shift]));
  const events: ClusterEvent[] = [];
  const instances = new Map<string, Instance>();
  return {
    deployments: [...shifts.keys()],
    events,
    instance: (deployment) => get(instances, deployment),
    async launch(deployment) {
      const instance = startInstance({
        deployment,
        app: otherBuild.includes(deployment) ? path.join(folder, OTHER) : folder,
        settings: { ...settingsOf(deployment, tick, path.join(folder, NOTES)), ...connect(deployment) },
        clockShiftMs: shifts.get(deployment) ?? 0,
        guard,
        onEvent: (event) => events.push(event),
      });
      instances.set(deployment, instance);
      await inTime(`the start of ${deployment}`, BOOT_MS, instance.ready, signal);
      return instance;
    },
    end(how) {
      for (const instance of instances.values()) how(instance);
      return Promise.all([...instances.values()].map(({ exited }) => exited));
    },
  };
}

function get<T>(map: ReadonlyMap<string, T>, deployment: string): T {
  const found = map.get(deployment);
  if (found === undefined) throw new Error(`there is no deployment ${deployment}`);
  return found;
}

function fileOf({ jobs, groups }: WorldOptions): object {
  return groups === undefined ? { jobs } : { groups, jobs };
}

function prepareFolder(options: WorldOptions): void {
  const { folder, otherBuild } = options;
  mkdirSync(path.join(folder, 'data'), { recursive: true });
  prepareApp(folder, fileOf(options), '');
  if (otherBuild.length > 0) prepareApp(path.join(folder, OTHER), fileOf(options), 'other-');
}

function prepareApp(folder: string, file: object, prefix: '' | 'other-'): void {
  mkdirSync(folder, { recursive: true });
  for (const file of ['app.js', 'host.json']) cpSync(path.join(__dirname, prefix + file), path.join(folder, file));
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ main: 'app.js' }));
  writeFileSync(path.join(folder, 'jobs.json'), JSON.stringify(file, undefined, 1));
}

function receiverSettings(receiver: Receiver | undefined): Record<string, string> {
  if (receiver === undefined) return { CRONLEASE_RECEIVERS: '', CRONLEASE_NOTIFY_HOSTS: '' };
  const url = `http://127.0.0.1:${String(receiver.port)}/`;
  const secret = `whsec_${Buffer.from('a secret of more than 24 bytes').toString('base64')}`;
  return {
    CRONLEASE_RECEIVERS: JSON.stringify({ ops: { format: 'cloudevents', url, secret } }),
    CRONLEASE_NOTIFY_HOSTS: '127.0.0.1',
    CRONLEASE_DEV_SECRET: DEV_SECRET,
  };
}

function settingsOf(deployment: string, tick: string, notes: string): Record<string, string> {
  return {
    CRONLEASE_CONTAINER: CONTAINER,
    CRONLEASE_DEPLOYMENT: deployment,
    CRONLEASE_TICK: tick,
    CRONLEASE_SWEEP_INTERVAL: '',
    AzureFunctionsWebHost__hostid: deployment,
    TASKHUB_NAME: deployment,
    CHAOS_NOTES: notes,
  };
}

function watching(
  deployment: string,
  storage: Storage,
  holds: ReturnType<typeof createHolds>,
  traffic: Answered[],
): Parameters<typeof startProxy>[0] {
  return {
    protocol: storage.protocol,
    target: () => storage.port(),
    onRequest: (call) => holds.pass('request', { deployment, call }),
    onAnswer(call, status, sentAt) {
      traffic.push({ deployment, call, status, sentAt, at: trueNow() });
      return status < 300 ? holds.pass('answer', { deployment, call }) : undefined;
    },
  };
}

/** The JSON lines of a file that grows, each read once. */
function appendedLines<T>(file: string): () => T[] {
  const found: T[] = [];
  let read = 0;
  return () => {
    if (!existsSync(file)) return found;
    const text = readFileSync(file, 'utf8').slice(read);
    // The last one may be half written.
    const whole = text.lastIndexOf('\n') + 1;
    for (const line of text.slice(0, whole).split('\n')) if (line !== '') found.push(JSON.parse(line) as T);
    read += whole;
    return found;
  };
}
