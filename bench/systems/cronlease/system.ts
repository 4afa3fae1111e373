import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { JobName } from '../../../src/core/brand';
import { parseRecordKey } from '../../../src/core/key';
import { type LeaseStore, StoreError } from '../../../src/lease/store';
import { SWEEP_INTERVAL } from '../../../src/local/cluster/cluster';
import { EXEC_ARGV, MEMORY_ENV } from '../../../src/local/cluster/deployment';
import type { FromHost, ToHost } from '../../../src/local/cluster/messages';
import { openStore } from '../../../src/stores/open';
import { systemClock } from '../../../src/system-clock';
import { pause, until } from '../../../test/chaos/time';
import type { BackendName } from '../../backends/backend';
import { type BenchJob, cronOf } from '../../load';
import { type Running, type System, type SystemOptions, WORKERS } from '../system';
import { allStarted, startWorker } from '../workers';
import { readHubWork } from './hub-work';

interface CronleaseOptions {
  readonly name: string;
  readonly title: string;
  /** The settings of `cronlease dev`, or those of a deployment on Azure. */
  readonly like: 'dev' | 'azure';
  readonly handOverDelayMs?: number;
  /** The store of rows and ledger. Default: blobs. */
  readonly backend?: Exclude<BackendName, 'none'>;
}

export const CONTAINER = 'cronlease';
const SETTLED_MS = 180_000;
const POLL_MS = 500;
const PAGE = 1_000;
/** An instance's share of a burst of all jobs, and some more. */
const ROOM_SHARE = 0.5;

function prepareApp(folder: string, jobs: readonly BenchJob[]): void {
  cpSync(path.join(__dirname, 'app.js'), path.join(folder, 'app.js'));
  writeFileSync(path.join(folder, 'host.json'), hostFile(jobs.length));
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ main: 'app.js' }));
  const entries = jobs.map(({ name, schedule, handlerMs, lines }) => [
    name,
    {
      schedule: cronOf(schedule),
      ...(lines === undefined ? { handler: 'bench', input: { ms: handlerMs } } : {}),
      ...(lines === undefined ? {} : { handler: 'talk', input: { ms: handlerMs, lines } }),
    },
  ]);
  writeFileSync(path.join(folder, 'jobs.json'), JSON.stringify({ jobs: Object.fromEntries(entries) as object }));
}

/** The project's own host.json. Like its peers, cronlease has room for all that is due at once. */
function hostFile(jobs: number): string {
  const text = readFileSync(path.join(__dirname, 'host.json'), 'utf8');
  return text.replace(/("maxConcurrentActivityFunctions": )(\d+)/, (_, name: string, room: string) => {
    return name + String(Math.max(Number(room), ROOM_SHARE * jobs));
  });
}

function settingsOf(name: string, storage: string): Record<string, string> {
  return {
    CRONLEASE_STORAGE: storage,
    CRONLEASE_STORAGE__blobServiceUri: '',
    CRONLEASE_CONTAINER: CONTAINER,
    CRONLEASE_DEPLOYMENT: name,
    // The embedded host keeps its own state in files.
    AzureWebJobsStorage: 'UseDevelopmentStorage=true',
    AzureFunctionsWebHost__hostid: name,
    TASKHUB_NAME: name,
  };
}

/** Some servers are named to their other clients by something that is not a URL of ours. */
function urlOf(server: BackendName, address: string): string {
  if (server === 'redis') return `redis://${address}`;
  return server === 'etcd' ? address.replace(/^http:/, 'etcd:') : address;
}

/** Before the first tick there is no container. */
async function countJobs(store: LeaseStore): Promise<number> {
  try {
    return (await store.list()).jobs.size;
  } catch (error) {
    if (error instanceof StoreError) return 0;
    throw error;
  }
}

/** Whether the ledger shows why due times did not run. */
async function readLedger(
  store: LeaseStore,
  jobs: readonly BenchJob[],
): Promise<(job: string, due: number) => boolean> {
  const stretches = new Map<string, { readonly from: number; readonly through: number }[]>();
  for (const { name } of jobs) {
    const known: { readonly from: number; readonly through: number }[] = [];
    stretches.set(name, known);
    let continuation: string | undefined;
    do {
      const request = { limit: PAGE, ...(continuation !== undefined && { continuation }) };
      const page = await store.listRecords(name as JobName, request);
      for (const { key, summary } of page.records) {
        const from = parseRecordKey(key)?.scheduledFor;
        if (from === undefined) throw new Error(`${key} of ${name} is no ledger record`);
        known.push({ from, through: summary['through'] === undefined ? from : Date.parse(summary['through']) });
      }
      continuation = page.continuation;
    } while (continuation !== undefined);
  }
  return (job, due) => (stretches.get(job) ?? []).some(({ from, through }) => from <= due && due <= through);
}

/** Cronlease on the embedded host: each worker is its own deployment. */
export function cronlease({
  name,
  title,
  like,
  handOverDelayMs = 0,
  backend: server = 'azurite',
}: CronleaseOptions): System {
  const start = async (options: SystemOptions): Promise<Running> => {
    const { folder, jobs, backend, records, onTrouble } = options;
    prepareApp(folder, jobs);
    const storage = urlOf(server, backend.address);
    const workers = Array.from({ length: WORKERS }, (_, index) => {
      const deployment = `local${String(index + 1)}`;
      const hubFolder = path.join(folder, `hub-${deployment}`);
      mkdirSync(hubFolder);
      return startWorker<ToHost, FromHost>(options, {
        entry: 'host-process',
        index,
        execArgv: like === 'dev' ? EXEC_ARGV : [],
        env: like === 'dev' ? MEMORY_ENV : {},
        start: {
          kind: 'start',
          options: {
            app: folder,
            port: 0,
            settings: settingsOf(deployment, storage),
            defaults: like === 'dev' ? { CRONLEASE_SWEEP_INTERVAL: SWEEP_INTERVAL } : {},
            strict: true,
            hubFolder,
            handOverDelayMs,
          },
        },
        stop: { kind: 'stop' },
        isReady: (message) => (message.kind === 'failed' ? message.message : message.kind === 'ready'),
        onMessage(message) {
          if (message.kind !== 'log') return;
          for (const line of message.lines) if (line.level !== 'information') onTrouble(line.message);
        },
      });
    });
    const store = openStore({
      ...{ settings: { CRONLEASE_STORAGE: storage }, container: CONTAINER, clock: systemClock },
      callTimeoutMs: 30_000,
    });
    return {
      ...(await allStarted(workers)),
      async settled() {
        await until('the first sight of all jobs', SETTLED_MS, async () => {
          await pause(POLL_MS);
          return (await countJobs(store)) >= jobs.length ? true : undefined;
        });
      },
      recorded: () => readLedger(store, jobs),
      hubWork: () => readHubWork(records),
    };
  };
  return { name, title, backend: server, own: true, handOverDelayMs, start };
}
