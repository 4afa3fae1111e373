// A dashboard for a look at it and for its pictures: `shop`, `empty`, `many` or `long`. Prints its address.
import { encodePresence } from '../../src/core/presence';
import { type DashboardServer, serveDashboard } from './dashboard';
import { MANY_FAN_OUTS, MANY_JOBS, manyHandler, writeHistory } from './dashboard-history';
import { SHOP, shopHandler } from './dashboard-world';
import { jobSpec } from './job';
import { pauseJob } from './by-operator';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const COMMON = { environment: { name: 'production', color: 'red' } } as const;

/** The jobs of a shop, a night after the payment provider failed. */
async function shop(): Promise<DashboardServer> {
  const server = await serveDashboard({
    ...{ ...COMMON, jobs: SHOP, handler: shopHandler, deployments: 3, pastMs: 8 * HOUR },
  });
  const spec = SHOP.find(({ name }) => name === 'export-ledger');
  if (spec === undefined) throw new Error('there is no job to pause');
  await pauseJob(server.sim.store, { name: spec.name, spec }, { by: 'anna@example.com', note: 'the ledger moves' });
  await send(server, 'deployments/d3/cordon', { note: 'a new disk' });
  await send(server, 'jobs/send-order-mails/pause', { note: 'the mail server is full' });
  await send(server, 'jobs/send-order-mails/resume', { note: 'it has room again' });
  await send(server, 'jobs/refresh-exchange-rates/runs', { note: 'the rates of Friday were wrong' });
  await presence(server, 'west-europe-old', { tickedAt: Date.now() - 40 * MINUTE, skewMs: -7_400, revision: -1 });
  return server;
}

function empty(): Promise<DashboardServer> {
  return serveDashboard({ ...COMMON, jobs: [], deployments: 1, pastMs: 0, reported: false });
}

/** 305 jobs with two days of history, of which some fail, and 60 deployments. */
async function many(): Promise<DashboardServer> {
  const server = await serveDashboard({
    ...{ ...COMMON, jobs: MANY_JOBS, deployments: 2, pastMs: 6 * MINUTE },
    ...{ handler: manyHandler, fanOut: MANY_FAN_OUTS },
    before: (store, until) => writeHistory(store, MANY_JOBS, until),
  });
  for (let index = 1; index < 59; index += 1) await presence(server, `region-${String(index).padStart(2, '0')}`, {});
  return server;
}

/** A job with 1,000 runs, of which the last one has said a lot, one that has never run, and many changes. */
async function long(): Promise<DashboardServer> {
  const jobs = [jobSpec('import-orders', '* * * * *'), jobSpec('never-run', '@manual')];
  const start = Date.now();
  const server = await serveDashboard({
    ...{ ...COMMON, jobs, deployments: 1, pastMs: 17 * HOUR },
    handler: (context) => {
      const isLast = start - context.scheduledFor.getTime() < 3 * MINUTE;
      for (let line = 1; isLast && line <= 1_500; line += 1) context.log(`order ${String(line)} of 1500 is imported`);
    },
  });
  for (let index = 0; index < 30; index += 1) {
    const note = { note: `planned work ${String(index + 1)}` };
    await send(server, 'jobs/import-orders/pause', note);
    await send(server, 'jobs/import-orders/resume', { note: 'it is done' });
  }
  return server;
}

async function send({ url }: DashboardServer, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-cronlease-request': '1' };
  const { status } = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  // The clock of the demo moves in steps: changes of one instant have no order.
  await new Promise((resolve) => setTimeout(resolve, 150));
  if (status >= 300) throw new Error(`${path} answered ${String(status)}`);
}

async function presence(
  { sim }: DashboardServer,
  deployment: string,
  changes: Partial<Parameters<typeof encodePresence>[0]>,
): Promise<void> {
  const facts = {
    instance: 'a',
    hub: 'hub@account',
    version: '0.1.0',
    revision: 0,
    jobs: '0'.repeat(16),
    rival: undefined,
  };
  const rest = {
    tickedAt: sim.clock.now(),
    hubProven: true,
    tickEveryMs: 15_000,
    skewMs: 0,
    ...changes,
  };
  await sim.store.writePresence(
    deployment,
    encodePresence({ ...facts, ...rest, revision: Math.max(0, rest.revision ?? 0) }),
    undefined,
  );
}

const WORLDS = { shop, empty, many, long } as const;

async function main(): Promise<void> {
  const world = Object.entries(WORLDS).find(([name]) => name === process.argv[2])?.[1] ?? shop;
  console.log((await world()).url);
}

void main();
