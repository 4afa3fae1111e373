import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { DurableClient } from 'durable-functions';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { durableHub } from '../../src/functions/hub';
import { durableClientInput, serveHub } from '../../src/local/durable/management';
import type { Hub } from '../../src/local/durable/hub';
import { listen } from '../../src/local/host/http-server';
import { loadRealPackages } from '../support/local-host';

const { functions, durable, hub: createHub } = loadRealPackages();

durable.app.orchestration('waits', function* (context) {
  context.df.setCustomStatus('waiting');
  return (yield context.df.waitForExternalEvent('go')) as unknown;
});
durable.app.orchestration('ends', function* (context) {
  yield context.df.createTimer(context.df.currentUtcDateTime);
  return { input: context.df.getInput() };
});

durable.app.orchestration('cronleaseRun', function* (context) {
  yield context.df.createTimer(context.df.currentUtcDateTime);
});

durable.app.entity('store', (context) => context.df.setState(context.df.getInput()));

const { Completed, Terminated } = durable.OrchestrationRuntimeStatus;
const FINISHED = [Completed, Terminated];

let hub: Hub;
let server: http.Server;
let client: DurableClient;

beforeAll(async () => {
  hub = createHub();
  const listening = await listen(0, [serveHub(hub, 'hub')], (error) => {
    throw error;
  });
  server = listening.server;
  vi.stubEnv('WEBSITE_HOSTNAME', `127.0.0.1:${listening.port}`);
  const input = durable.input.durableClient();
  const context = new functions.InvocationContext({ options: { extraInputs: [input] } });
  context.extraInputs.set(input, JSON.parse(durableClientInput(`http://127.0.0.1:${listening.port}`, 'hub')));
  client = durable.getClient(context);
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const status = async (id: string, wanted: string) =>
  vi.waitFor(
    async () => {
      const found = await client.getStatus(id);
      expect(found.runtimeStatus).toBe(wanted);
      return found;
    },
    { interval: 2 },
  );

describe('the client of the real durable-functions', () => {
  it('starts, asks for the status, raises events', async () => {
    const id = await client.startNew('waits', { instanceId: 'w-1', input: { a: 1 } });
    expect(id).toBe('w-1');
    expect(await status(id, 'Running')).toMatchObject({
      name: 'waits',
      input: { a: 1 },
      output: null,
      customStatus: 'waiting',
    });
    await client.raiseEvent(id, 'go', { done: true });
    const ended = await status(id, 'Completed');
    expect(ended.output).toEqual({ done: true });
    expect(Math.abs(ended.createdTime.getTime() - Date.now())).toBeLessThan(30_000);
    await client.raiseEvent(id, 'go', 1);
  });

  it('gives out an id of its own', async () => {
    const id = await client.startNew('ends', { input: 'text' });
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect((await status(id, 'Completed')).output).toEqual({ input: 'text' });
  });

  it('is refused an id that is under way, as by the extension', async () => {
    await client.startNew('waits', { instanceId: 'twice' });
    await status('twice', 'Running');
    await expect(client.startNew('waits', { instanceId: 'twice' })).rejects.toThrow(
      /status code: 500.*An Orchestration instance with the status Running already exists/,
    );
    await client.terminate('twice', 'enough');
    expect((await status('twice', 'Terminated')).output).toBe('enough');
    expect(await client.startNew('waits', { instanceId: 'twice' })).toBe('twice');
    await client.terminate('twice', 'enough');
  });

  it('is told what is unknown', async () => {
    await expect(client.startNew('nobody')).rejects.toThrow(/status code: 400.*'nobody' doesn't exist/);
    await expect(client.getStatus('nobody')).rejects.toThrow('404');
    await expect(client.terminate('nobody', '')).rejects.toThrow("No instance with ID 'nobody'");
    await expect(client.raiseEvent('nobody', 'go', 1)).rejects.toThrow("No instance with ID 'nobody'");
    await expect(client.suspend('twice', '')).rejects.toThrow(/501.*does not support 'POST suspend'.*Core Tools/);
    await expect(client.signalEntity(new durable.EntityId('e', 'k'), 'set', 1)).rejects.toThrow(
      /400.*'e' doesn't exist, is disabled, or is not an entity function/,
    );
  });

  it('signals entities, and reads them', async () => {
    const store = new durable.EntityId('store', 'k');
    expect(await client.readEntityState(store)).toEqual({ entityExists: false });
    await client.signalEntity(store, 'set', { n: 1 });
    await vi.waitFor(async () => {
      expect(await client.readEntityState(store)).toEqual({ entityExists: true, entityState: { n: 1 } });
    });
  });

  it('purges what has ended, one or many', async () => {
    await client.startNew('ends', { instanceId: 'p-1' });
    await status('p-1', 'Completed');
    expect(await client.purgeInstanceHistory('p-1')).toEqual({ instancesDeleted: 1 });
    expect(await client.purgeInstanceHistory('p-1')).toEqual({ instancesDeleted: 0 });

    await client.startNew('waits', { instanceId: 'stays' });
    await client.startNew('ends', { instanceId: 'p-2' });
    await status('p-2', 'Completed');
    const all = { createdTimeFrom: new Date(0), createdTimeTo: new Date(Date.now() + 1000) };
    const completed = { ...all, runtimeStatus: [durable.OrchestrationRuntimeStatus.Completed] };
    const ended = Array.from(hub.list()).filter((one) => one.status === 'Completed').length;
    expect(await client.purgeInstanceHistoryBy({ ...completed, createdTimeTo: new Date(1) })).toEqual({
      instancesDeleted: 0,
    });
    expect(await client.purgeInstanceHistoryBy(completed)).toEqual({ instancesDeleted: ended });
    expect((await client.getStatusBy(completed)).length).toBe(0);
    expect((await client.getStatusAll()).map((one) => one.instanceId)).toContain('stays');
  });

  it("purges cronlease's orchestrations, and never those of the app", async () => {
    const span = { from: new Date(0), to: new Date(Date.now() + 60_000) };
    await client.purgeInstanceHistoryBy({ createdTimeFrom: span.from, runtimeStatus: FINISHED });
    const ids = async () => (await client.getStatusAll()).map(({ instanceId }) => instanceId).toSorted();
    const others = await ids();
    await client.startNew('ends', { instanceId: 'theirs' });
    await client.startNew('cronleaseRun', { instanceId: 'ours' });
    await Promise.all([status('theirs', 'Completed'), status('ours', 'Completed')]);
    expect(await durableHub(client).purge(span)).toBe(others.length + 2);
    expect(await ids()).toEqual([...others, 'theirs'].toSorted());
    await client.purgeInstanceHistory('theirs');
    for (const id of others) {
      await client.terminate(id, 'over');
      await client.purgeInstanceHistory(id);
    }
    await client.startNew('cronleaseRun', { instanceId: 'alone' });
    await status('alone', 'Completed');
    expect([await durableHub(client).purge(span), await durableHub(client).purge(span)]).toEqual([1, 0]);
  });

  it('may start an orchestration while the host shuts down, which stays pending', async () => {
    hub.stop();
    await client.startNew('ends', { instanceId: 'late' });
    expect((await client.getStatus('late')).runtimeStatus).toBe('Pending');
  });
});

describe('the task hub of an app', () => {
  it('starts none of its orchestrators to find out whether it has them', async () => {
    const { orchestrations } = durableHub(client, (name) => name === 'ends');
    if (orchestrations === undefined) throw new Error('a hub of an app has orchestrations');
    const starts = vi.spyOn(client, 'startNew');
    expect(await Promise.all(['ends', 'missing'].map((name) => orchestrations.knows(name)))).toEqual([true, false]);
    expect(starts).not.toHaveBeenCalled();
    starts.mockRestore();
  });

  it('takes no orchestration for gone by an error that only mentions 404', async () => {
    // As the extension passes on what the storage of its hub has answered.
    const error = {
      Message: 'Something went wrong',
      ExceptionMessage: 'The table does not exist. Status: 404 (Not Found)',
    };
    const answers = [500, 404];
    const broken = http.createServer((_, response) => {
      response.writeHead(answers.shift() ?? 500, { 'content-type': 'application/json' }).end(JSON.stringify(error));
    });
    broken.listen(0, '127.0.0.1');
    await once(broken, 'listening');
    const { port } = broken.address() as AddressInfo;
    const input = durable.input.durableClient();
    const context = new functions.InvocationContext({ options: { extraInputs: [input] } });
    context.extraInputs.set(input, JSON.parse(durableClientInput(`http://127.0.0.1:${String(port)}`, 'hub')));
    const its = durableHub(durable.getClient(context));
    await expect(its.status('http-404-check-1')).rejects.toThrow(/unexpected status code: 500/);
    expect(await its.status('http-404-check-1')).toBe('unknown');
    broken.close();
  });
});

describe('the management of orchestrations', () => {
  /** The status of an answer to a request that calls the host by this name. */
  const statusFor = (host: string, path = '/runtime/webhooks/durabletask/instances'): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const { port } = server.address() as AddressInfo;
      const request = http.get({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on('error', reject);
    });

  it.each(['evil.example', 'evil.example:7071', '127.0.0.1.evil.example', '192.168.0.1:80', 'localhost.evil'])(
    'is refused to whoever calls the host "%s"',
    async (host) => {
      expect(await statusFor(host)).toBe(403);
    },
  );

  it.each(['127.0.0.1', '127.0.0.1:7071', 'localhost:80', 'LOCALHOST', '[::1]:80'])('is open to "%s"', async (host) => {
    expect(await statusFor(host)).toBe(200);
  });

  /** The status of an answer to a page's request, which begins an orchestration unless it is refused. */
  const startedBy = async (headers: Readonly<Record<string, string>>, method = 'POST'): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const { port } = server.address() as AddressInfo;
      const path = `/runtime/webhooks/durabletask/${method === 'POST' ? 'orchestrators/waits/page' : 'instances'}`;
      const host = `127.0.0.1:${port}`;
      const filled = Object.entries(headers).map(([name, value]) => [name, value.replace('HOST', host)]);
      const sent = { host, 'content-type': 'text/plain', ...Object.fromEntries(filled) };
      const request = http.request({ host: '127.0.0.1', port, path, method, headers: sent }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on('error', reject).end();
    });

  it.each([
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' },
    { 'sec-fetch-site': 'cross-site', origin: 'http://HOST' },
  ])('is refused to a page of another site: %j', async (headers) => {
    expect(await startedBy(headers)).toBe(403);
    expect(await startedBy(headers, 'GET')).toBe(403);
    expect(hub.get('page')).toBeUndefined();
  });

  it.each([{}, { 'sec-fetch-site': 'none' }, { 'sec-fetch-site': 'same-origin' }, { origin: 'http://HOST' }])(
    'is open to reads of a program, a person and its own pages: %j',
    async (headers) => {
      expect(await startedBy(headers, 'GET')).toBe(200);
    },
  );

  it('refuses a path that encodes nothing', async () => {
    expect(await statusFor('localhost', '/runtime/webhooks/durabletask/instances/%zz')).toBe(400);
  });
});
