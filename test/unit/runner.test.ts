import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { build } from 'esbuild';
import { describe, expect, it, vi } from 'vitest';
import { type RunnerOptions, createRunner, defineJob } from '../../src/runner/index';

const handlers = { greet: defineJob({ run: () => 'hello' }) };
const jobs = { jobs: { greet: { schedule: '0 3 * * *' } } };
const OPTIONS: RunnerOptions = { jobs, handlers, store: 'postgres://127.0.0.1:1/none', deployment: 'unit' };

/** A logger that keeps its lines. */
function keptLog() {
  const lines: string[] = [];
  const line =
    (level: string) =>
    (...message: readonly unknown[]) =>
      void lines.push(`${level} ${message.map(String).join(' ')}`);
  return { lines, log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') } };
}

describe('createRunner', () => {
  it('refuses a jobs file with errors, each with its place', () => {
    const wrong = { jobs: { greet: { schedule: 'soon' }, other: { schedule: '@manual' } } };
    expect(() => createRunner({ ...OPTIONS, jobs: wrong })).toThrow(
      expect.objectContaining({ code: 'InvalidJobs', message: expect.stringContaining('jobs.greet.schedule') }),
    );
  });

  it.each([
    ['a store without a known form', { store: 'nowhere' }, 'StorageSettingsError'],
    ['a container with an impossible name', { container: 'No Name' }, 'SettingError'],
    ['a deployment with an impossible name', { deployment: 'two words' }, 'SettingError'],
  ])('refuses %s', (_what, wrong, name) => {
    expect(() => createRunner({ ...OPTIONS, ...wrong })).toThrow(expect.objectContaining({ name }));
  });

  it('does not heed host.json, which is not its own', () => {
    vi.stubEnv('AzureFunctionsJobHost__functionTimeout', '00:01:00');
    const long = { jobs: { greet: { schedule: '0 3 * * *', timeout: '6h' } } };
    expect(() => createRunner({ ...OPTIONS, jobs: long })).not.toThrow();
    vi.unstubAllEnvs();
  });

  it('refuses a time to finish that is no duration, and is stopped by the next call', async () => {
    const runner = createRunner(OPTIONS);
    expect(() => runner.stop({ finishWithin: 'a while' })).toThrow(
      expect.objectContaining({ code: 'RunnerMisused', message: expect.stringContaining('"a while"') }),
    );
    await runner.stop({ finishWithin: '1s' });
    await runner.stop();
    expect(() => runner.start()).toThrow(expect.objectContaining({ name: 'RunnerError' }));
    expect(runner.health().healthy).toBe(false);
  });

  it('says that storage does not answer, and stops all the same', { timeout: 30_000 }, async () => {
    const { log, lines } = keptLog();
    const runner = createRunner({ ...OPTIONS, log });
    runner.start();
    await vi.waitFor(() => expect(runner.health().troubles).toHaveLength(1), { timeout: 20_000 });
    expect(runner.health()).toMatchObject({ healthy: false, troubles: [expect.stringContaining('127.0.0.1')] });
    expect(lines.filter((line) => line.startsWith('warn') && line.includes('unhealthy'))).toHaveLength(1);
    await runner.stop();
  });

  it('stops in time while storage takes a call and does not answer', { timeout: 30_000 }, async () => {
    const silent = net.createServer((socket) => socket.on('error', () => undefined).resume());
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const { port } = silent.address() as net.AddressInfo;
    const asked = once(silent, 'connection');
    const { log } = keptLog();
    const runner = createRunner({ ...OPTIONS, store: `etcd://127.0.0.1:${String(port)}/none`, log });
    runner.start();
    await asked;
    const began = performance.now();
    await runner.stop();
    expect(performance.now() - began).toBeLessThan(5_000);
    silent.close();
  });

  it('goes on with a logger that throws', { timeout: 30_000 }, async () => {
    const shown = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const broken = (): never => {
      throw new Error('write after end');
    };
    const runner = createRunner({ ...OPTIONS, log: { debug: broken, info: broken, warn: broken, error: broken } });
    runner.start();
    await vi.waitFor(() => expect(runner.health().troubles).toHaveLength(1), { timeout: 20_000 });
    await runner.stop();
    const lines = shown.mock.calls.map(String);
    shown.mockRestore();
    expect(lines).toContainEqual(expect.stringMatching(/the logger of the runner threw.*write after end.*unhealthy/s));
  });
});

it('cronlease/runner loads neither the Functions host nor Durable', async () => {
  const { metafile } = await build({
    entryPoints: [path.join(__dirname, '../../src/runner/index.ts')],
    bundle: true,
    write: false,
    metafile: true,
    packages: 'external',
    platform: 'node',
    logLevel: 'warning',
    external: ['*/dashboard/files.js'],
  });
  const packages = Object.values(metafile.inputs).flatMap(({ imports }) => imports.map((one) => one.path));
  expect(packages.filter((name) => /^@azure\/functions|^durable-functions/.test(name))).toEqual([]);
  expect(packages).toContain('@azure/storage-blob');
});
