import type { AddressInfo } from 'node:net';
import type http from 'node:http';
import type { DurableClient } from 'durable-functions';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { OrchestrationWatch } from '../../src/coordinator/tick/orchestrations';
import { type Report, createCoordinator } from '../../src/coordinator/coordinator';
import { beatPiece, progressIn } from '../../src/core/fan-out';
import { recordKey } from '../../src/core/key';
import { instanceIdOf } from '../../src/core/orchestration';
import { encodeRow, newRow } from '../../src/core/row';
import { durableHub } from '../../src/functions/hub';
import { defineOrchestration } from '../../src/handler/define-orchestration';
import { durableClientInput, serveHub } from '../../src/local/durable/management';
import { listen } from '../../src/local/host/http-server';
import { memoryService } from '../../src/stores/memory/store';
import { systemClock } from '../../src/system-clock';
import { jobSpec } from '../support/job';
import { loadRealPackages } from '../support/local-host';

const RUNNING = 1_000;
const DUE = Date.UTC(2026, 0, 1, 3);
const { functions, durable, hub: createHub } = loadRealPackages();

durable.app.orchestration('closes', function* (context) {
  context.df.setCustomStatus('waits');
  yield context.df.waitForExternalEvent('go');
});
durable.app.orchestration('cronleaseRun', function* (context) {
  yield context.df.createTimer(context.df.currentUtcDateTime);
});

const hub = createHub();
const asked: string[] = [];
const queries: URLSearchParams[] = [];
let server: http.Server;
let client: DurableClient;

beforeAll(async () => {
  const counted = serveHub(hub, 'hub');
  const listening = await listen(
    0,
    [
      (request, response, url) => {
        queries.push(url.searchParams);
        asked.push(`${String(request.method)} ${url.pathname.split('/').slice(4).join('/')}`);
        return counted(request, response, url);
      },
    ],
    (error) => {
      throw error;
    },
  );
  server = listening.server;
  const { port } = server.address() as AddressInfo;
  vi.stubEnv('WEBSITE_HOSTNAME', `127.0.0.1:${String(port)}`);
  const input = durable.input.durableClient();
  const context = new functions.InvocationContext({ options: { extraInputs: [input] } });
  context.extraInputs.set(input, JSON.parse(durableClientInput(`http://127.0.0.1:${String(port)}`, 'hub')));
  client = durable.getClient(context);
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

it('lists the hub once for a thousand running orchestrations, and beats for each of them', async () => {
  const store = memoryService(systemClock).open();
  const handler = defineOrchestration({ orchestrator: 'closes' });
  const specs = Array.from({ length: RUNNING }, (_, index) => jobSpec(`close-${String(index)}`, '@daily'));
  for (const { name, scheduleHash } of specs) {
    const run = { key: recordKey(DUE), scheduledFor: DUE, trigger: 'schedule', since: DUE };
    const row = { token: 1, phase: 'fanning', attempt: 1, incumbent: 'eu', notBefore: DUE + 86_400_000, run };
    await store.createRow(name, encodeRow({ ...newRow(DUE, 0, scheduleHash), ...row } as never));
    hub.start('closes', instanceIdOf(name, DUE, 1), 'null');
  }
  await vi.waitFor(() => {
    expect([...hub.list()].filter(({ customStatus }) => customStatus !== undefined)).toHaveLength(RUNNING);
  });
  const trouble: unknown[] = [];
  const report: Report = { event: () => undefined, log: (_, ...message) => void trouble.push(message) };
  const coordinator = createCoordinator({
    ...{ store, clock: systemClock, random: Math.random, newId: () => 'own', deployment: 'eu', revision: 0 },
    jobs: new Map(specs.map((spec) => [spec.name, { spec, handler, input: undefined }])),
    settings: { lookAheadMs: 5_000, sweepIntervalMs: 60_000, functionTimeoutMs: 1_800_000 },
  });
  const watch = new OrchestrationWatch(coordinator);
  const listing = await store.list();
  asked.length = 0;
  const startedAt = performance.now();
  await watch.check(listing, durableHub(client), report);
  const tookMs = performance.now() - startedAt;
  console.log(`a sweep over ${String(RUNNING)} running orchestrations: ${tookMs.toFixed(0)} ms`);

  expect(trouble).toEqual([]);
  // Besides, the proof that the hub works: one no-op, and what becomes of it.
  expect(asked.filter((request) => request === 'GET instances/')).toHaveLength(1);
  expect(asked.length).toBeLessThan(20);
  const last = specs.at(-1)?.name;
  if (last === undefined) throw new Error('no job');
  const { pieces } = await store.listPieces(last, { key: recordKey(DUE), limit: 10 });
  expect(pieces.map(({ name }) => name)).toEqual([beatPiece(1 as never, 'own')]);
  expect(progressIn(pieces[0]?.summary ?? {})).toEqual({ note: 'waits' });
  // A third of a second on a machine that is not busy.
  expect(tookMs).toBeLessThan(20_000);
});

it('lists a hub without the inputs of its orchestrations, which may be large', async () => {
  queries.length = 0;
  const { orchestrations, purge } = durableHub(client);
  await orchestrations?.running();
  await purge({ from: new Date(0), to: new Date(1) });
  expect(queries.map((query) => query.get('showInput'))).toEqual(['false', 'false']);
});

it('lists the orchestrations that have just continued as new, or no heartbeat would be written for them', async () => {
  queries.length = 0;
  await durableHub(client).orchestrations?.running();
  expect(queries[0]?.get('runtimeStatus')?.split(',')).toEqual(['Pending', 'Running', 'ContinuedAsNew', 'Suspended']);
});

it('lists the hub once for the sweeps of several storage accounts', async () => {
  const { orchestrations } = durableHub(client);
  asked.length = 0;
  const listings = await Promise.all([orchestrations?.running(), orchestrations?.running()]);
  expect([listings[1], await orchestrations?.running()]).toEqual([listings[0], listings[0]]);
  expect(listings[0]).toHaveLength(RUNNING);
  expect(asked).toEqual(['GET instances/']);
});
