import { afterAll, expect, it, vi } from 'vitest';
import { loadJobs } from '../../src/config/load';
import { decodeRow } from '../../src/core/row';
import { requestRun } from '../../src/operator/operations/run';
import { listRuns } from '../../src/operator/views/runs';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { callTarget } from '../support/call-target';
import { coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

afterAll(endAll);

const KEY = 'a-key-that-nobody-may-see';

it('a call is polled on after kill -9 of its holder, and its key is in no log and no record', async () => {
  const begun = Promise.withResolvers<number>();
  const target = await callTarget((got, response) => {
    response.setHeader('content-type', 'application/json');
    if (got.method === 'POST') {
      begun.resolve(Date.now());
      response.writeHead(202, { 'operation-location': '/state', 'retry-after': '1' });
      response.end();
      return;
    }
    // The operation lasts until another instance has asked for it.
    const isSecond = got.headers['x-cronlease-attempt'] === '2';
    response.end(JSON.stringify({ status: isSecond ? 'Succeeded' : 'Running', seen: got.headers['x-key'] }));
  });
  const jobs = {
    close: {
      schedule: '@manual',
      lease: '15s',
      input: { rows: 7 },
      call: { url: '%TARGET%/close', headers: { 'x-key': '%KEY%' }, body: { rows: '{input.rows}' } },
    },
  };
  const app = coordinatedApp(jobs);
  const env = { ...app.env, TARGET: target.url, KEY };
  const dev = startDev(buildLocal(), { app: app.folder, instances: 2, restart: false }, env);
  const { storage, container, instances } = await dev.ready();
  const connected = connectContainer({ CRONLEASE_STORAGE: storage }, container);
  const store = azureBlobStore({ container: connected, clock: systemClock });
  const [job] = loadJobs({ jobs }).jobsFile.jobs;
  if (job === undefined) throw new Error('no job');
  const waitFor = <T>(condition: () => Promise<T>): Promise<T> =>
    vi.waitFor(condition, { timeout: 110_000, interval: 50 });
  await waitFor(() => requestRun({ store }, job, { id: 'abc' }));
  await begun.promise;
  await waitFor(async () => {
    const { pieces } = await store.listPieces(job.name, { limit: 10 });
    expect(pieces).toHaveLength(1);
  });
  const stored = await store.readRow(job.name);
  const { incumbent } = decodeRow(stored?.metadata ?? {});
  const holder = instances.find(({ deployment }) => deployment === incumbent);
  process.kill(holder?.pid ?? 0, 'SIGKILL');

  const record = await waitFor(async () => {
    const { records } = await listRuns(store, [job.name], await store.list(), 5);
    const final = records.find(({ state }) => state === 'final');
    if (final === undefined) throw new Error('not final yet');
    return final;
  });
  expect(record).toMatchObject({ outcome: 'succeeded', result: { status: 'Succeeded', seen: '***' } });
  const calls = target.got.filter(({ method }) => method === 'POST');
  expect(calls.map(({ body, headers }) => [body, headers['x-key'], headers['x-cronlease-attempt']])).toEqual([
    ['{"rows":7}', KEY, '1'],
  ]);
  // They are deleted after the record is written.
  await waitFor(async () => expect((await store.listPieces(job.name, { limit: 10 })).pieces).toEqual([]));
  expect(JSON.stringify(dev.events) + dev.stderr() + JSON.stringify(record)).not.toContain(KEY);
  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);
  target.close();
}, 240_000);
