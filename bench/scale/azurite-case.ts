import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { decodeRow } from '../../src/core/row';
import { startGuard } from '../../src/local/cluster/child';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import type { Backend } from '../backends/backend';
import { azuriteBackend } from '../backends/azurite';
import { difference } from '../measure/usage';
import type { Cost, ScaleResult } from './figures';
import type { FromInstance, ToInstance } from './instance-process';

const SWEEPS = 5;
const TICK_AGAIN_MS = 100;

/** Measures the first sight and the sweeps of one case on the emulator, with a process for each instance. */
export async function azuriteCase(jobs: number, instances: number): Promise<ScaleResult> {
  const guard = startGuard();
  const azurite = await azuriteBackend({ guard, folder: __dirname });
  const processes = Array.from({ length: instances }, () => fork(path.join(__dirname, 'instance-process.js')));
  try {
    const connectionString = azurite.address;
    await Promise.all(
      processes.map((one, index) =>
        ask(one, { kind: 'start', deployment: `d${String(index + 1)}`, connectionString, jobs }),
      ),
    );
    const startedAt = Date.now();
    const firstSight = await measure(azurite, () => tickUntilCreated(processes, jobs));
    const owedFromMs = (await latestCursor(connectionString, jobs)) - startedAt;
    // The sweep that finds the rows of others, and decides about them.
    await Promise.all(processes.map((one) => ask(one, { kind: 'sweep' })));
    const sweeps = await measure(azurite, async () => {
      let cpuMs = 0;
      for (let count = 0; count < SWEEPS; count += 1) {
        const answers = await Promise.all(processes.map((one) => ask(one, { kind: 'sweep' })));
        cpuMs += sumOf(answers);
      }
      return cpuMs;
    });
    const each = Object.fromEntries(Object.entries(sweeps.calls).map(([kind, count]) => [kind, count / SWEEPS]));
    const idleMinute = { ...sweeps, cpuMs: sweeps.cpuMs / SWEEPS, wallMs: sweeps.wallMs / SWEEPS, calls: each };
    return {
      store: 'azurite',
      jobs,
      instances,
      costs: { firstSight, idleMinute },
      onePercent: 0,
      heapMbEach: 0,
      owedFromMs,
    };
  } finally {
    for (const one of processes) one.disconnect();
    await azurite.stop();
    await guard.end();
  }
}

/** @throws Error if a job has no row */
async function latestCursor(connectionString: string, jobs: number): Promise<number> {
  const container = connectContainer({ CRONLEASE_STORAGE: connectionString });
  const listing = await azureBlobStore({ container, clock: systemClock }).list();
  const rows = [...listing.jobs.values()].flatMap(({ row }) => (row === undefined ? [] : [decodeRow(row.metadata)]));
  if (rows.length !== jobs) throw new Error(`${String(rows.length)} of ${String(jobs)} jobs have a row`);
  return rows.reduce((latest, { cursor }) => Math.max(latest, cursor), 0);
}

async function ask(one: ChildProcess, message: ToInstance): Promise<FromInstance> {
  one.send(message);
  const [answer] = (await once(one, 'message')) as [FromInstance];
  return answer;
}

async function tickUntilCreated(processes: readonly ChildProcess[], jobs: number): Promise<number> {
  let cpuMs = 0;
  const created = processes.map(() => 0);
  const isDone = (): boolean => created.reduce((sum, one) => sum + one, 0) >= jobs;
  await Promise.all(
    processes.map(async (one, index) => {
      while (!isDone()) {
        const answer = await ask(one, { kind: 'tick' });
        cpuMs += answer.cpuMs;
        created[index] = answer.created;
        if (!isDone()) await new Promise((resolve) => setTimeout(resolve, TICK_AGAIN_MS));
      }
    }),
  );
  return cpuMs;
}

function sumOf(answers: readonly FromInstance[]): number {
  return answers.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}

/** @param work returns the CPU of the instances */
async function measure(azurite: Backend, work: () => Promise<number>): Promise<Cost> {
  const before = await azurite.calls();
  const startedAt = performance.now();
  const cpuMs = await work();
  const wallMs = performance.now() - startedAt;
  return { cpuMs, wallMs, calls: difference(await azurite.calls(), before) ?? {}, runs: 0 };
}
