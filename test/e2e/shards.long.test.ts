import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { shardOf } from '../../src/core/layout';
import { type Azurite, startAzurite } from '../support/azurite';
import { type CliFolder, cliFolder } from '../support/cli-build';
import { coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';

const CONTAINER = 'dealt';
const NAMES = Array.from({ length: 12 }, (_, index) => `job-${String(index)}`);

let accounts: readonly [Azurite, Azurite];
let folder: CliFolder;

beforeAll(async () => {
  accounts = [await startAzurite(), await startAzurite()];
  folder = cliFolder();
});
afterAll(async () => {
  endAll();
  folder.remove();
  for (const account of accounts) await account.stop();
});

it('deals jobs over two accounts, and an outage of one stops its own jobs alone', async () => {
  const locations = accounts.map(({ port }) => `http://127.0.0.1:${String(port)}/devstoreaccount1/${CONTAINER}`);
  const [inFirst, inSecond] = [0, 1].map((index) => NAMES.filter((name) => shardOf(name, locations) === index));
  const shards = {
    CRONLEASE_SHARDS: 'FIRST, SECOND',
    FIRST: accounts[0].connectionString,
    SECOND: accounts[1].connectionString,
    CRONLEASE_CONTAINER: CONTAINER,
  };
  const jobs = Object.fromEntries(
    NAMES.map((name) => [name, { schedule: '*/2 * * * * *', handler: 'mark', catchUp: 'none' }]),
  );
  folder.write('jobs.json', { jobs });
  const app = coordinatedApp(jobs);
  const ranSince = (since: number): readonly string[] =>
    [
      ...new Set(
        app
          .notes()
          .filter(({ at }) => at >= since)
          .map(({ job }) => job),
      ),
    ].sort();

  // Deployed before its list is in force, the app claims nothing, and says so.
  const dev = startDev(
    buildLocal(),
    { app: app.folder, instances: 1, container: CONTAINER },
    { ...app.env, ...shards },
  );
  await dev.event(({ event, reason }) => event === 'unhealthy' && String(reason).includes('has no layout'));
  const dry = await folder.run(['shards'], shards);
  expect([dry.code, dry.stdout]).toEqual([1, expect.stringContaining('Nothing was written')]);
  expect(app.notes()).toEqual([]);

  const applied = await folder.run(['shards', '--apply', '--wait', '4s'], shards);
  expect([applied.code, applied.stdout]).toEqual([0, expect.stringContaining('The jobs are distributed over')]);
  await vi.waitFor(() => expect(ranSince(0)).toEqual([...NAMES].sort()), { timeout: 60_000, interval: 200 });
  const status = await folder.run(['status'], shards);
  for (const name of NAMES) expect(status.stdout).toContain(name);
  const doctor = await folder.run(['doctor'], shards);
  expect(doctor.stdout).toMatch(/accounts +the jobs are distributed over 2 accounts, whose layouts fit/);

  // Another list claims nothing there.
  const other = await folder.run(['doctor'], {
    CRONLEASE_STORAGE: accounts[0].connectionString,
    CRONLEASE_CONTAINER: CONTAINER,
  });
  expect(other.stdout).toMatch(/accounts .*over 1 account .*nothing is claimed there/);

  const [, second] = accounts;
  const { port } = second;
  accounts = [accounts[0], await startAzurite()];
  await second.stop();
  // Runs of the account that had begun before it was stopped come to their end.
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  const since = Date.now();
  const dueOf = (name: string): readonly number[] =>
    app
      .notes()
      .filter(({ at, job }) => job === name && at >= since)
      .map(({ scheduledFor }) => scheduledFor);
  await vi.waitFor(
    () => {
      for (const name of inFirst ?? []) expect(dueOf(name).length, name).toBeGreaterThanOrEqual(5);
    },
    { timeout: 90_000, interval: 500 },
  );
  expect(ranSince(since)).toEqual([...(inFirst ?? [])].sort());
  for (const name of inFirst ?? []) {
    expect(new Set(dueOf(name)).size, `${name} ran a due time twice`).toBe(dueOf(name).length);
  }
  const without = await folder.run(['status'], shards);
  expect(without.stderr).toMatch(new RegExp(`127.0.0.1:${String(port)}.*its jobs are shown without their state`, 's'));
  for (const name of NAMES) expect(without.stdout).toContain(name);
  expect((await folder.run(['pause', inFirst?.[0] ?? '', '--note', 'seen'], shards)).code).toBe(0);
  expect((await folder.run(['pause', inSecond?.[0] ?? '', '--note', 'seen'], shards)).code).not.toBe(0);

  process.kill(dev.pid, 'SIGTERM');
  expect(await dev.exited()).toBe(0);
});
