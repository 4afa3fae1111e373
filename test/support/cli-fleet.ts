import type { JobName } from '../../src/core/brand';
import { encodePresence } from '../../src/core/presence';
import { encodeRow, newRow, type Row } from '../../src/core/row';
import type { LeaseStore } from '../../src/lease/store';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { startAzurite } from './azurite';
import { type CliFolder, cliFolder, type Ended } from './cli-build';
import { jobSpec } from './job';
import { pauseJob } from './by-operator';

const MINUTE = 60_000;
const MARK = Math.floor(Date.now() / MINUTE) * MINUTE;
const CONTAINER = 'cli-status';

const JOBS = {
  failing: { schedule: '@hourly', tags: ['billing'] },
  idle: { schedule: '@hourly', tags: ['billing'] },
  stopped: { schedule: '@hourly' },
};

/** A jobs file and the storage of a fleet, for commands of operators. */
export interface CliFleet {
  readonly folder: CliFolder;
  readonly store: LeaseStore;
  env(container?: string): NodeJS.ProcessEnv;
  /** Creates a container if it is missing. */
  open(container: string): Promise<LeaseStore>;
  /** Runs a command on the storage. */
  run(...args: readonly string[]): Promise<Ended>;
  remove(): Promise<void>;
}

export async function addRow(store: LeaseStore, job: string, changes: Partial<Row>): Promise<void> {
  const { scheduleHash } = jobSpec(job, '@hourly');
  const row = newRow(MARK, 1, scheduleHash);
  await store.createRow(job as JobName, encodeRow({ ...row, cursor: MARK, ...changes }));
}

export const ran = (outcome: 'succeeded' | 'failed'): Pick<Row, 'recent'> => ({
  recent: [60, 30].map((minutes) => ({
    ...{ kind: 'run', scheduledFor: MARK - minutes * MINUTE, request: undefined, attempts: 1 },
    ...{ outcome, latenessMs: 12, durationMs: 2_500, waitedMs: 0 },
  })),
});

/** Three jobs, of which one fails and one is paused, and the deployments blue and green. */
export async function cliFleet(): Promise<CliFleet> {
  const azurite = await startAzurite();
  const folder = cliFolder();
  folder.write('jobs.json', { revision: 1, jobs: JOBS });
  const env = (container = CONTAINER): NodeJS.ProcessEnv => ({
    ...{ CRONLEASE_STORAGE: azurite.connectionString, CRONLEASE_CONTAINER: container },
  });
  const open = async (name: string): Promise<LeaseStore> => {
    const container = connectContainer({ CRONLEASE_STORAGE: azurite.connectionString }, name);
    const opened = azureBlobStore({ container, clock: systemClock });
    await opened.prepare();
    return opened;
  };
  const store = await open(CONTAINER);
  await addRow(store, 'idle', ran('succeeded'));
  await addRow(store, 'failing', { ...ran('failed'), failures: 2 });
  await addRow(store, 'stopped', ran('succeeded'));
  await pauseJob(store, { name: 'stopped' as JobName }, { by: 'ann', note: 'moving' });
  for (const name of ['blue', 'green']) {
    const presence = {
      ...{ instance: name, hub: undefined, rival: undefined, version: '0.1.0', revision: 1, jobs: 'x' },
      ...{ tickedAt: Date.now(), tickEveryMs: 15_000, skewMs: 0, hubProven: true },
    };
    await store.writePresence(name, encodePresence(presence), undefined);
  }
  return {
    ...{ folder, store, env, open },
    run: (...args) => folder.run(args, env()),
    async remove() {
      folder.remove();
      await azurite.stop();
    },
  };
}
