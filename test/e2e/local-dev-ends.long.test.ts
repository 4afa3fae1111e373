import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { allGone, isRunning, type Ready } from '../support/dev-run';
import { localClusters, NO_STORAGE, QUIET, run } from '../support/local-dev';

const { appOf, start } = localClusters();

// A stall of the machine spoils a measured time. One that is wrong stays wrong when it is measured again.
describe('an instance that gets SIGTERM, as Azure ends one', { retry: 2 }, () => {
  /** How long after the signal it was gone. */
  async function endsAfter(
    lastsMs: number | undefined,
    meanwhile?: (ready: Ready, pid: number) => Promise<'isEnding' | undefined>,
  ) {
    const began = Date.now();
    const dev = start({ app: appOf('basic'), instances: 1, restart: false, ...NO_STORAGE }, QUIET);
    const ready = await dev.ready();
    // The measure of how fast this machine is now.
    const startMs = Date.now() - began;
    if (lastsMs !== undefined) {
      await run(ready, { input: { lastsMs } });
      await dev.event(({ event }) => event === 'started');
    }
    const at = Date.now();
    process.kill(ready.instances[0]?.pid ?? 0, 'SIGTERM');
    const isEnding = (await meanwhile?.(ready, dev.pid)) === 'isEnding';
    if (meanwhile === undefined) await dev.event(({ event }) => event === 'instanceExited');
    else await allGone([ready.instances[0]?.pid ?? 0]);
    const tookMs = Date.now() - at;
    await expect.poll(() => dev.stderr()).toContain('drained');
    // A second signal ends a cluster that is ending at once.
    if (!isEnding && isRunning(dev.pid)) process.kill(dev.pid, 'SIGINT');
    expect(await dev.exited()).toBe(0);
    return { tookMs, startMs, events: dev.events };
  }

  it('drains at once when nothing goes on', async () => {
    const { tookMs, startMs } = await endsAfter(undefined);
    expect(tookMs).toBeLessThan(1_000 + 3 * startMs);
  });

  it('waits for its invocations first', async () => {
    const { tookMs, startMs } = await endsAfter(3_000);
    expect(tookMs).toBeGreaterThan(2_500);
    expect(tookMs).toBeLessThan(4_000 + 3 * startMs);
  });

  it('takes orchestrations and runs none for 10 s, then drains whatever goes on', async () => {
    const { tookMs, startMs, events } = await endsAfter(120_000, async (ready) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect((await run(ready, { instanceId: 'late', input: {} })).status).toBe(200);
      return undefined;
    });
    expect(tookMs).toBeGreaterThan(9_500);
    expect(tookMs).toBeLessThan(11_000 + 5 * startMs);
    expect(events.filter(({ event }) => event === 'started')).toHaveLength(1);
  });

  it('waits no longer when the cluster ends', async () => {
    const { tookMs, startMs } = await endsAfter(120_000, async (_ready, cluster) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      process.kill(cluster, 'SIGINT');
      return 'isEnding';
    });
    expect(tookMs).toBeLessThan(2_000 + 3 * startMs);
  });
});

describe('an instance that is killed', () => {
  it('leaves what it had taken hidden, for as long as host.json says, and the next one runs the rest', async () => {
    const app = appOf('basic');
    const hostJson = path.join(app, 'host.json');
    const host = JSON.parse(fs.readFileSync(hostJson, 'utf8')) as { extensions?: { durableTask?: object } };
    const storageProvider = { workItemQueueVisibilityTimeout: '00:00:20' };
    const durableTask = { ...host.extensions?.durableTask, storageProvider, maxConcurrentActivityFunctions: 1 };
    fs.writeFileSync(hostJson, JSON.stringify({ ...host, extensions: { ...host.extensions, durableTask } }));
    const dev = start({ app, instances: 1, ...NO_STORAGE }, QUIET);
    const ready = await dev.ready();
    await run(ready, { instanceId: 'taken', input: { lastsMs: 60_000, startedAt: 1 } });
    const { at: takenAt } = await dev.event(({ event }) => event === 'started');
    await run(ready, { instanceId: 'waits', input: { startedAt: 2 } });
    await expect.poll(async () => (await run(ready, { instanceId: 'waits', input: {} })).status).toBe(500);
    process.kill(ready.instances[0]?.pid ?? 0, 'SIGKILL');
    await dev.event(({ event }) => event === 'instanceStarted');
    await expect.poll(() => dev.events.filter(({ event }) => event === 'started').length, { timeout: 60_000 }).toBe(3);
    const [, rest, again] = dev.events.filter(({ event }) => event === 'started');
    expect(Date.parse(String(rest?.['at']))).toBeLessThan(Date.parse(String(again?.['at'])));
    expect(Date.parse(String(again?.['at'])) - Date.parse(String(takenAt))).toBeGreaterThan(19_900);
    process.kill(dev.pid, 'SIGINT');
    expect(await dev.exited()).toBe(0);
  });
});
