import { BlobServiceClient } from '@azure/storage-blob';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { loadJobs } from '../../src/config/load';
import type { JobSpec } from '../../src/core/job';
import { parseRecordKey } from '../../src/core/key';
import { type Azurite, startAzurite } from '../../src/local/cluster/azurite';
import type { ClusterEvent } from '../../src/local/cluster/deployment';
import type { Guard } from '../../src/local/cluster/guard';
import type { Note } from './app/note';
import { type Answered, type Call, callOf } from './calls';
import type { LedgerLine } from './evidence';
import { createHolds, type Hold, type HoldAt } from './hold';
import { type Instance, startInstance } from './instance';
import { type Proxy, startProxy } from './proxy';
import { inTime, trueNow, until } from './time';

const CONTAINER = 'cronlease';
const NOTES = 'notes.jsonl';
/** Folder of the other build's app, in the world's. */
const OTHER = 'other';
const BOOT_MS = 60_000;
const END_MS = 20_000;
const GRACE_TO_EXIT_MS = 15_000;

export interface WorldOptions {
  /** Absolute; it is made here. */
  readonly folder: string;
  readonly jobs: Readonly<Record<string, object>>;
  /** Seconds of the minute at which the tick timer fires. */
  readonly tick: string;
  /** One deployment for each: how far its clock is ahead, in ms. */
  readonly clockShiftsMs: readonly number[];
  /** Whether the emulator keeps its data in files. */
  readonly keepsFiles: boolean;
  /** Deployments that run the other build. */
  readonly otherBuild: readonly string[];
  readonly guard: Guard;
  readonly signal: AbortSignal;
}

/** Several deployments with an instance each, every one behind a proxy of its own, on one emulator: all real processes. */
export interface World {
  readonly jobs: readonly JobSpec[];
  readonly deployments: readonly string[];
  readonly signal: AbortSignal;
  readonly events: readonly ClusterEvent[];
  /** What storage has answered so far. */
  readonly traffic: readonly Answered[];
  instance(deployment: string): Instance;
  proxy(deployment: string): Proxy;
  /** Starts an instance of it anew. Resolves when it answers. */
  restart(deployment: string): Promise<Instance>;
  hold(at: HoldAt, fits: (call: Call) => boolean): Hold;
  notes(): readonly Note[];
  /** The first note that fits. */
  note(what: string, withinMs: number, fits: (note: Note) => boolean): Promise<Note>;
  ledger(): Promise<LedgerLine[]>;
  emulator(): Azurite;
  restartEmulator(): Promise<void>;
  /** Drains all instances and ends the emulator. */
  stop(): Promise<void>;
  /** Ends everything at once. Never rejects. */
  kill(): Promise<void>;
}

export async function startWorld(options: WorldOptions): Promise<World> {
  const { folder, guard, signal } = options;
  prepareFolder(options);
  const readNotes = appendedLines<Note>(path.join(folder, NOTES));
  const data = options.keepsFiles ? path.join(folder, 'data') : undefined;
  const traffic: Answered[] = [];
  const holds = createHolds();
  const proxies = new Map<string, Proxy>();
  let emulator = await startEmulator(data, guard);
  const fleet = createFleet(options, (deployment) => throughPort(emulator, get(proxies, deployment).port));

  const world: World = {
    jobs: loadJobs({ jobs: options.jobs }).jobsFile.jobs,
    deployments: fleet.deployments,
    signal,
    events: fleet.events,
    traffic,
    instance: fleet.instance,
    proxy: (deployment) => get(proxies, deployment),
    restart: fleet.launch,
    hold: holds.hold,
    notes: readNotes,
    note: (what, withinMs, fits) => until(what, withinMs, () => readNotes().find(fits), signal),
    ledger: () => readLedger(emulator),
    emulator: () => emulator,
    async restartEmulator() {
      emulator = await startEmulator(data, guard);
    },
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
      const ended = Promise.all([fleet.end((instance) => instance.signal('SIGKILL')), emulator.kill()]);
      await inTime('the end of all processes', END_MS, ended).catch(() => undefined);
    },
  };
  try {
    await service(emulator).getContainerClient('fenced').create();
    for (const deployment of fleet.deployments) {
      proxies.set(deployment, await startProxy(watching(deployment, () => emulator, holds, traffic)));
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

/** @param storageOf - a deployment's connection string */
function createFleet(
  { folder, tick, clockShiftsMs, otherBuild, guard, signal }: WorldOptions,
  storageOf: (deployment: string) => string,
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
        settings: settingsOf(deployment, storageOf(deployment), tick, path.join(folder, NOTES)),
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

function prepareFolder({ folder, jobs, otherBuild }: WorldOptions): void {
  mkdirSync(path.join(folder, 'data'), { recursive: true });
  prepareApp(folder, jobs, '');
  if (otherBuild.length > 0) prepareApp(path.join(folder, OTHER), jobs, 'other-');
}

function prepareApp(folder: string, jobs: WorldOptions['jobs'], prefix: '' | 'other-'): void {
  mkdirSync(folder, { recursive: true });
  for (const file of ['app.js', 'host.json']) cpSync(path.join(__dirname, prefix + file), path.join(folder, file));
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ main: 'app.js' }));
  writeFileSync(path.join(folder, 'jobs.json'), JSON.stringify({ jobs }, undefined, 1));
}

async function startEmulator(data: string | undefined, guard: Guard): Promise<Azurite> {
  const emulator = await startAzurite(__dirname, data);
  guard.watch(emulator);
  return emulator;
}

function throughPort(emulator: Azurite, port: number): string {
  return emulator.connectionString.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${String(port)}`);
}

function settingsOf(deployment: string, storage: string, tick: string, notes: string): Record<string, string> {
  return {
    CRONLEASE_STORAGE: storage,
    CRONLEASE_STORAGE__blobServiceUri: '',
    CRONLEASE_CONTAINER: CONTAINER,
    CRONLEASE_DEPLOYMENT: deployment,
    CRONLEASE_TICK: tick,
    CRONLEASE_SWEEP_INTERVAL: '',
    AzureWebJobsStorage: storage,
    AzureFunctionsWebHost__hostid: deployment,
    TASKHUB_NAME: deployment,
    CHAOS_NOTES: notes,
  };
}

function watching(
  deployment: string,
  emulator: () => Azurite,
  holds: ReturnType<typeof createHolds>,
  traffic: Answered[],
): Parameters<typeof startProxy>[0] {
  return {
    target: () => Number(/127\.0\.0\.1:(\d+)/.exec(emulator().connectionString)?.[1]),
    onRequest: (head) => holds.pass('request', { deployment, call: callOf(head) }),
    onAnswer(head, status, sentAt) {
      const call = callOf(head);
      traffic.push({ deployment, call, status, sentAt, at: trueNow() });
      return status < 300 ? holds.pass('answer', { deployment, call }) : undefined;
    },
  };
}

function service(emulator: Azurite): BlobServiceClient {
  return BlobServiceClient.fromConnectionString(emulator.connectionString);
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

/** The ledger, read with nothing of the product but the form of its keys. */
async function readLedger(emulator: Azurite): Promise<LedgerLine[]> {
  const container = service(emulator).getContainerClient(CONTAINER);
  const lines: LedgerLine[] = [];
  for await (const { name, metadata = {} } of container.listBlobsFlat({ prefix: 'runs/', includeMetadata: true })) {
    const [, job, key] = name.split('/');
    const at = key === undefined ? undefined : parseRecordKey(key)?.scheduledFor;
    if (job === undefined || at === undefined) throw new Error(`${name} is no ledger record`);
    const { state = '', outcome = '', through } = metadata;
    lines.push({ job, scheduledFor: at, through: through === undefined ? at : Date.parse(through), state, outcome });
  }
  return lines;
}
