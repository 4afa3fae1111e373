import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { StorageServer } from '../../src/local/servers/server';
import { type Azurite, startAzurite } from '../support/azurite';
import { type CliFolder, cliFolder } from '../support/cli-build';
import { coordinatedApp } from '../support/coordinated';
import { testPostgres } from '../support/postgres';
import { endRunners, startRunner } from '../support/runners';

let azurite: Azurite;
let postgres: StorageServer;
let folder: CliFolder;
beforeAll(async () => {
  azurite = await startAzurite();
  postgres = await testPostgres();
  folder = cliFolder();
});
afterAll(async () => {
  endRunners();
  folder.remove();
  await azurite.stop();
  await postgres.stop();
});

const NAMES = Array.from({ length: 6 }, (_, index) => `job-${String(index)}`);

interface ShownRun {
  readonly job: string;
  readonly scheduledFor: string;
  readonly token: number;
  readonly outcome: string;
}

it('moves jobs from blobs to PostgreSQL, killed on the way and begun again, and no due time is run twice', async () => {
  const jobs = Object.fromEntries(NAMES.map((name) => [name, { schedule: '*/2 * * * * *', handler: 'mark' }]));
  folder.write('jobs.json', { jobs });
  const app = coordinatedApp(jobs, { program: 'runner' });
  const before = { CRONLEASE_STORAGE: azurite.connectionString };
  const after = { CRONLEASE_STORAGE: postgres.url };
  const ranBy = (pid: number): number => app.notes().filter((note) => note.pid === pid).length;
  const old = startRunner(app, 'blobs', before);
  await vi.waitFor(() => expect(ranBy(old.pid)).toBeGreaterThan(12), { timeout: 60_000, interval: 100 });

  const way = ['--from', azurite.connectionString, '--to', 'NEW_STORE'];
  const env = { NEW_STORE: postgres.url };
  const dry = await folder.run(['migrate', ...way], env);
  expect([dry.code, dry.stdout]).toEqual([1, expect.stringContaining('Nothing was written')]);
  for (const name of NAMES) expect(dry.stdout).toContain(`${name}  moves`);
  expect(`${dry.stdout}${dry.stderr}`).not.toContain('AccountKey=');

  const cut = folder.start(['migrate', ...way, '--apply', '--wait', '6s'], env);
  await vi.waitFor(() => expect(old.output()).toContain('is being changed'), { timeout: 60_000, interval: 50 });
  cut.signal('SIGKILL');
  await cut.ended;
  const done = await folder.run(['migrate', ...way, '--apply', '--wait', '6s'], env);
  expect([done.code, done.stdout]).toEqual([0, expect.stringContaining('All jobs are in postgres://')]);

  const lastOfOld = app.notes().length;
  const successor = startRunner(app, 'postgres', after);
  await vi.waitFor(() => expect(ranBy(successor.pid)).toBeGreaterThan(12), { timeout: 60_000, interval: 100 });
  const since = app.notes().slice(lastOfOld);
  expect(new Set(since.map(({ pid }) => pid))).toEqual(new Set([successor.pid]));
  for (const name of NAMES) {
    const notes = app.notes().filter(({ job }) => job === name);
    expect(new Set(notes.map(({ scheduledFor }) => scheduledFor)).size, `${name} ran twice`).toBe(notes.length);
    const tokens = notes.map(({ token }) => token);
    expect(tokens).toEqual(tokens.toSorted((one, other) => one - other));
    const ran = notes.filter(({ pid }) => pid === old.pid).map(({ scheduledFor }) => scheduledFor);
    const { runs } = await folder.json<{ readonly runs: readonly ShownRun[] }>(
      folder.run(['runs', name, '--json', '--limit', '500'], after),
    );
    const recorded = new Set(runs.map(({ scheduledFor }) => Date.parse(scheduledFor)));
    for (const due of ran) expect(recorded.has(due), `the record of ${name} at ${String(due)}`).toBe(true);
  }
  const again = await folder.run(['migrate', ...way], env);
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('All jobs have moved')]);
  const doctor = await folder.run(['doctor'], before);
  expect(doctor.stdout).toMatch(/has left the list of accounts/);
  for (const runner of [old, successor]) expect(await runner.end('SIGTERM')).toBe(0);
});
