import type { EpochMs } from '../../src/core/brand';
import type { LeaseStore } from '../../src/lease/store';
import { HttpRequest, InvocationContext } from '@azure/functions';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Dashboard } from '../../src/dashboard/files';
import { manageHandler } from '../../src/functions/manage';
import { buildDashboard } from '../../scripts/dashboard.mjs';
import type { ShownEnvironment } from '../../src/manage/environment';
import { accessWithKeys, keyOfRole } from './manage';
import { encodePresence } from '../../src/core/presence';
import type { Role } from '../../src/manage/rights';
import { coordinatorsOf } from './coordinators';
import { type RivalTicks, type SimulationOptions, rivalTicks } from './rival-ticks';

export interface DashboardServer {
  readonly url: string;
  readonly sim: RivalTicks;
  /** Every request: `GET jobs`. */
  readonly requests: readonly string[];
  /** Whose browser it is. Undefined: no one is logged in. */
  role: Role | undefined;
  /** Stops answering, as an app that restarts. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

interface ServerOptions extends SimulationOptions {
  /** How long the simulation has run when the server starts. */
  readonly pastMs: number;
  /** Writes what is older than the simulation. */
  readonly before?: (store: LeaseStore, until: EpochMs) => Promise<void>;
  /** Whether the deployments have reported a tick. Default: they have. */
  readonly reported?: boolean;
  readonly environment?: ShownEnvironment;
  readonly port?: number;
  readonly role?: Role | undefined;
  /** Whether time goes on by itself. Default: it does; else the test moves the clock. */
  readonly timePasses?: boolean;
}

let built: Promise<Dashboard> | undefined;

/** The real function below `manage/`, over deployments in one process, whose time goes on as that of the browser. */
export async function serveDashboard(options: ServerOptions): Promise<DashboardServer> {
  built ??= buildDashboard();
  const dashboard = await built;
  const start = Date.now() - options.pastMs;
  const sim = rivalTicks({ sweepIntervalMs: 1_000, ...options, start });
  await options.before?.(sim.store, start);
  await sim.clock.advance(Math.round(options.pastMs));
  for (const { deployment } of options.reported === false ? [] : sim.instances) {
    await sim.store.writePresence(deployment, presence(sim, options.revision ?? 0), undefined);
  }
  const handler = manageHandler({
    coordinators: () => coordinatorsOf(sim.instances[0]?.coordinator),
    isReady: () => Promise.resolve(true),
    access: accessWithKeys(),
    environment: options.environment,
    poke: () => sim.instances[0]?.poke() ?? Promise.resolve(undefined),
    dashboard: () => Promise.resolve(dashboard),
    env: {},
    appFolder: __dirname,
  });
  const requests: string[] = [];
  const state = { role: 'role' in options ? options.role : ('admin' as const) };
  const answer = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const url = `http://${request.headers.host ?? ''}${request.url ?? ''}`;
    const path = new URL(url).pathname.replace('/api/manage/', '');
    requests.push(`${request.method ?? ''} ${path}`);
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(request.headers)) headers[name] = String(value);
    // As the platform adds the login.
    if (state.role !== undefined) headers['x-cronlease-key'] = keyOfRole(state.role);
    const method = request.method ?? 'GET';
    const body = method === 'GET' || method === 'HEAD' ? {} : { body: { bytes: Buffer.concat(chunks) } };
    const returned = await handler(new HttpRequest({ url, method, headers, ...body }), new InvocationContext());
    if (returned === undefined || !('status' in returned)) throw new Error('there is no answer');
    response.writeHead(returned.status ?? 200, returned.headers as Record<string, string>);
    response.end(returned.body as string | Uint8Array | undefined);
  };
  let server: http.Server;
  let port = options.port ?? 0;
  const listen = async (): Promise<void> => {
    server = http.createServer((request, response) => void answer(request, response));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  const goAway = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    if (server.listening) await once(server, 'close');
  };
  await listen();
  const time = options.timePasses === false ? undefined : passTime(sim);
  return {
    url: `http://127.0.0.1:${String(port)}/api/manage/`,
    ...{ sim, requests, goAway, comeBack: listen },
    get role() {
      return state.role;
    },
    set role(role) {
      state.role = role;
    },
    async close() {
      await time?.stop();
      await goAway();
    },
  };
}

function presence({ clock }: RivalTicks, revision: number): Readonly<Record<string, string>> {
  return encodePresence({
    ...{ instance: 'a', hub: 'hub@account', version: '0.1.0', revision, jobs: '0'.repeat(16), tickedAt: clock.now() },
    ...{ hubProven: true, tickEveryMs: 15_000, skewMs: 0, rival: undefined },
  });
}

const STEP_MS = 100;

function passTime({ clock }: RivalTicks): { stop(): Promise<void> } {
  let stopped = false;
  const loop = async (): Promise<void> => {
    let last = performance.now();
    while (!stopped) {
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
      // Times of the service are whole.
      const passed = Math.floor(performance.now() - last);
      await clock.advance(passed);
      last += passed;
    }
  };
  const done = loop();
  return {
    async stop() {
      stopped = true;
      await done;
    },
  };
}
