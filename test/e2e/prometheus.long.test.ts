import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePort } from '../../src/local/servers/server';
import { coordinatedApp } from '../support/coordinated';
import { type Ready, endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';
import { scratchFolder } from '../support/scratch';

const KEY = 'a key of twenty bytes';
const PATIENCE = { timeout: 60_000, interval: 200 };

let instances: Ready['instances'];
let prometheus: ReturnType<typeof spawn>;
let api = '';
let log = '';

/** Debian's Prometheus, which scrapes each instance as docs/how-to/metrics.md shows it. */
async function startPrometheus(): Promise<void> {
  const folder = scratchFolder('prometheus');
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'key'), KEY);
  const targets = instances.map(({ port }) => `127.0.0.1:${String(port)}`);
  const config = path.join(folder, 'prometheus.yml');
  writeFileSync(
    config,
    JSON.stringify({
      scrape_configs: [
        {
          ...{
            job_name: 'cronlease',
            scheme: 'http',
            metrics_path: '/api/manage/keyed/metrics',
            scrape_interval: '1s',
          },
          basic_auth: { username: 'prometheus', password_file: path.join(folder, 'key') },
          static_configs: [{ targets }],
        },
      ],
    }),
  );
  // Someone else may take a free port before Prometheus does.
  for (let tries = 1; !(await listens(config, folder)); tries += 1) {
    if (tries === 5) throw new Error(`Prometheus does not start: ${log}`);
  }
}

/** Starts it on a free port. Resolves to whether it got the port. */
async function listens(config: string, folder: string): Promise<boolean> {
  const port = await freePort();
  api = `http://127.0.0.1:${String(port)}/api/v1`;
  const args = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${path.join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${String(port)}`,
  ];
  prometheus = spawn('prometheus', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  prometheus.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text));
  const started = prometheus;
  started.on('error', (error) => (log += `${error.message}: run apt-get install prometheus`));
  let isOver = false;
  started.on('close', () => (isOver = true));
  return vi.waitFor(async () => {
    if (isOver) return false;
    const { ok } = await fetch(`http://127.0.0.1:${String(port)}/-/ready`);
    if (!ok) throw new Error(`Prometheus is not ready: ${log}`);
    return !isOver;
  }, PATIENCE);
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

async function query(promql: string): Promise<readonly Series[]> {
  const answer = await fetch(`${api}/query?query=${encodeURIComponent(promql)}`);
  const { data } = (await answer.json()) as { readonly data: { readonly result: readonly Series[] } };
  return data.result;
}

beforeAll(async () => {
  const app = coordinatedApp({
    often: { schedule: '*/5 * * * * *', handler: 'mark', alertAfter: '1h' },
    refused: { schedule: '*/10 * * * * *', handler: 'giveUp', alertAfter: '5s' },
  });
  const keys = `prometheus:viewer:${createHash('sha256').update(KEY).digest('hex')}`;
  const dev = startDev(buildLocal(), { app: app.folder, instances: 2 }, { ...app.env, CRONLEASE_API_KEYS: keys });
  ({ instances } = await dev.ready());
  await startPrometheus();
});
afterAll(() => {
  prometheus?.kill('SIGKILL');
  endAll();
});

describe('Prometheus', () => {
  it('scrapes every instance of a cluster, and finds the same in each', async () => {
    await vi.waitFor(async () => {
      const up = await query('up');
      expect(
        up.map(({ value }) => value[1]),
        log,
      ).toEqual(['1', '1']);
      const failures = await query('cronlease_job_failures{cronlease_job="refused"}');
      expect(failures).toHaveLength(2);
      for (const { value } of failures) expect(Number(value[1])).toBeGreaterThan(0);
      // Both instances have listed the rows once both show the deployments.
      expect(await query('count by (instance) (cronlease_deployment_tick_age_seconds)')).toHaveLength(2);
      const overdue = await query('max by (cronlease_job) (cronlease_job_overdue)');
      const of = (job: string): string | undefined =>
        overdue.find(({ metric }) => metric['cronlease_job'] === job)?.value[1];
      expect([of('often'), of('refused')]).toEqual(['0', '1']);
      const [age] = await query('max(cronlease_job_last_success_age_seconds{cronlease_job="often"})');
      expect(Number(age?.value[1])).toBeLessThan(30);
    }, PATIENCE);
  });

  it('knows the type and the meaning of each gauge', async () => {
    await vi.waitFor(async () => {
      const answer = await fetch(`${api}/targets/metadata?metric=cronlease_job_last_success_age_seconds`);
      const { data } = (await answer.json()) as {
        readonly data: readonly { readonly type: string; readonly help: string }[];
      };
      expect(data[0]).toMatchObject({ type: 'gauge', help: expect.stringContaining('last success') as string });
    }, PATIENCE);
  });
});
