import { BlobServiceClient, type ContainerClient } from '@azure/storage-blob';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseRecordKey } from '../../../src/core/key';
import { SWEEP_INTERVAL } from '../../../src/local/cluster/cluster';
import { EXEC_ARGV, MEMORY_ENV } from '../../../src/local/cluster/instance';
import type { FromHost, ToHost } from '../../../src/local/cluster/messages';
import { pause, until } from '../../../test/chaos/time';
import { type BenchJob, cronOf } from '../../load';
import { type Running, type System, type SystemOptions, WORKERS } from '../system';
import { allStarted, startWorker } from '../workers';

interface CronleaseOptions {
  readonly name: string;
  readonly title: string;
  /** The settings of `cronlease dev`, or those of a deployment on Azure. */
  readonly like: 'dev' | 'azure';
  readonly handOverDelayMs?: number;
}

const CONTAINER = 'cronlease';
const SETTLED_MS = 180_000;
const LOOK_MS = 500;

function prepareApp(folder: string, jobs: readonly BenchJob[]): void {
  for (const file of ['app.js', 'host.json']) cpSync(path.join(__dirname, file), path.join(folder, file));
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ main: 'app.js' }));
  const entries = jobs.map(({ name, schedule, handlerMs }) => [
    name,
    {
      schedule: schedule.kind === 'once' ? `@at ${new Date(schedule.at).toISOString()}` : cronOf(schedule),
      handler: 'bench',
      input: { ms: handlerMs },
    },
  ]);
  writeFileSync(path.join(folder, 'jobs.json'), JSON.stringify({ jobs: Object.fromEntries(entries) as object }));
}

function settingsOf(name: string, storage: string): Record<string, string> {
  return {
    CRONLEASE_STORAGE: storage,
    CRONLEASE_STORAGE__blobServiceUri: '',
    CRONLEASE_CONTAINER: CONTAINER,
    CRONLEASE_DEPLOYMENT: name,
    AzureWebJobsStorage: storage,
    AzureFunctionsWebHost__hostid: name,
    TASKHUB_NAME: name,
  };
}

/** Whether the ledger shows why due times did not run. */
async function readLedger(container: ContainerClient): Promise<(job: string, due: number) => boolean> {
  const stretches = new Map<string, { readonly from: number; readonly through: number }[]>();
  for await (const { name, metadata = {} } of container.listBlobsFlat({ prefix: 'runs/', includeMetadata: true })) {
    const [, job = '', key = ''] = name.split('/');
    const from = parseRecordKey(key)?.scheduledFor;
    if (from === undefined) throw new Error(`${name} is no ledger record`);
    const through = metadata['through'] === undefined ? from : Date.parse(metadata['through']);
    const known = stretches.get(job);
    if (known === undefined) stretches.set(job, [{ from, through }]);
    else known.push({ from, through });
  }
  return (job, due) => (stretches.get(job) ?? []).some(({ from, through }) => from <= due && due <= through);
}

async function countRows(container: ContainerClient): Promise<number> {
  let count = 0;
  for await (const page of container.listBlobsFlat({ prefix: 'jobs/' }).byPage({ maxPageSize: 5_000 })) {
    count += page.segment.blobItems.length;
  }
  return count;
}

/** Cronlease on the embedded host: each worker is a deployment of its own. */
export function cronlease({ name, title, like, handOverDelayMs = 0 }: CronleaseOptions): System {
  const start = async (options: SystemOptions): Promise<Running> => {
    const { folder, jobs, backend, onTrouble } = options;
    prepareApp(folder, jobs);
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
            settings: settingsOf(deployment, backend.address),
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
    const container = BlobServiceClient.fromConnectionString(backend.address).getContainerClient(CONTAINER);
    return {
      ...(await allStarted(workers)),
      async settled() {
        await until('the first sight of all jobs', SETTLED_MS, async () => {
          await pause(LOOK_MS);
          return (await container.exists()) && (await countRows(container)) >= jobs.length ? true : undefined;
        });
      },
      recorded: () => readLedger(container),
    };
  };
  return { name, title, backend: 'azurite', own: true, handOverDelayMs, start };
}
