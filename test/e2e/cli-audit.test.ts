import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import { type Azurite, startAzurite } from '../support/azurite';
import { type CliFleet, cliFleet } from '../support/cli-fleet';

interface Page {
  readonly entries: readonly { readonly action: string; readonly id: string }[];
  readonly cursor: string | null;
}

let fleet: CliFleet;
let other: Azurite;
beforeAll(async () => {
  [fleet, other] = await Promise.all([cliFleet(), startAzurite()]);
});
afterAll(async () => {
  await Promise.all([fleet.remove(), other.stop()]);
});

describe('audit', () => {
  it('lists what people changed, newest first, in pages', async () => {
    expect((await fleet.run('audit')).stdout).toMatch(/^There are no changes yet/);
    expect(await fleet.run('pause', 'idle', '--note', 'moving \u001b[31mhouse', '--yes')).toMatchObject({ code: 0 });
    expect(await fleet.run('resume', 'idle', '--yes')).toMatchObject({ code: 0 });
    expect((await fleet.run('resume', 'idle', '--yes')).code).toBe(1);

    const { code, stdout, stderr } = await fleet.run('audit');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.split('\n').filter((line) => /^\S/.test(line));
    const by = String.raw`by \S+ \(shell, unproven\)`;
    expect(lines[0]).toMatch(new RegExp(String.raw`^\d{4}-\S+Z {2}refused {2}resume idle {2}${by}$`));
    expect(lines[1]).toMatch(new RegExp(String.raw`^\d{4}-\S+Z {2}done {2}resume idle {2}${by}$`));
    expect(lines[2]).toMatch(new RegExp(String.raw`^\d{4}-\S+Z {2}done {2}pause idle {2}${by}$`));
    expect(stdout).toMatch(/\n {4}after: [^\n]*not paused/);
    expect(stdout).toMatch(/\n {4}why: moving /);
    expect(stdout).not.toContain('\u001b');

    const first = await fleet.folder.json<Page>(fleet.run('audit', '--limit', '1', '--json'));
    expect(first).toMatchObject({
      entries: [
        { action: 'resume', target: 'idle', state: 'refused', identity: null, proven: false, channel: 'shell' },
      ],
    });
    // It is part of the next command line.
    expect(first.cursor).toMatch(/^[\w-]+$/);
    expect(await fleet.run('audit', '--cursor', `${first.cursor ?? ''}!`)).toMatchObject({ code: 2 });
    const older = await fleet.folder.json<Page>(fleet.run('audit', '--cursor', first.cursor ?? '', '--json'));
    expect(older.entries.map(({ action }) => action)).toEqual(['resume', 'pause']);
    expect(older.cursor).toBeNull();
  });

  it('refuses a limit that cannot be', async () => {
    for (const limit of ['0', 'x']) expect(await fleet.run('audit', '--limit', limit)).toMatchObject({ code: 2 });
  });
});

describe('with CRONLEASE_AUDIT', () => {
  const env = (): NodeJS.ProcessEnv => ({ ...fleet.env(), CRONLEASE_AUDIT: other.connectionString });

  it('refuses a change that cannot be recorded in the second place, and doctor says why', async () => {
    const refused = await fleet.folder.run(['pause', 'idle', '--note', 'moving', '--yes'], env());
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toMatch(/nothing was changed.*\(CRONLEASE_AUDIT\) did not take the entry/s);
    expect((await fleet.run('status', 'idle')).stdout).not.toMatch(/\nidle +paused/);
    const { stdout } = await fleet.folder.run(['doctor'], env());
    expect(stdout).toMatch(/\nproblem +audit +\S+ \(CRONLEASE_AUDIT\): /);
  });

  it.each([
    ['a repair after a failover', ['recover', '--after-failover', '--apply']],
    [
      'a move to another store, named by its setting',
      ['migrate', '--from', 'CRONLEASE_STORAGE', '--to', 'OTHER_STORE', '--to-container', 'moved', '--apply'],
    ],
  ])('refuses %s that cannot be recorded there', async (_what, args) => {
    const wait = args[0] === 'migrate' ? ['--wait', '1s'] : [];
    const settings = { ...env(), OTHER_STORE: fleet.env()['CRONLEASE_STORAGE'] };
    const before = await fleet.store.list();
    const refused = await fleet.folder.run([...args, ...wait], settings);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toMatch(/nothing was changed.*\(CRONLEASE_AUDIT\) did not take the entry/s);
    const { jobs } = await fleet.store.list();
    for (const [job, { row }] of before.jobs) expect(jobs.get(job)?.row?.etag).toBe(row?.etag);
  });

  it('creates the entries there first, and lists those of the storage of the jobs', async () => {
    const container = connectContainer(
      { CRONLEASE_STORAGE: other.connectionString },
      fleet.env()['CRONLEASE_CONTAINER'],
    );
    const second = azureBlobStore({ container, clock: systemClock });
    await second.prepare();
    expect((await fleet.folder.run(['doctor'], env())).stdout).toMatch(/\nok +audit +\S+ \(CRONLEASE_AUDIT\) answers/);
    for (const command of ['pause', 'resume']) {
      const note = command === 'pause' ? ['--note', 'moving'] : [];
      expect(await fleet.folder.run([command, 'idle', ...note, '--yes'], env())).toMatchObject({ code: 0 });
    }
    const { audits } = await second.listAudits({ limit: 10 });
    const ends = audits.map(({ key }) => key.split('-').at(-1));
    expect(ends.filter((end) => end === 'begun')).toHaveLength(2);
    expect(ends.filter((end) => end === 'done')).toHaveLength(2);
    const { entries } = await fleet.folder.json<Page>(fleet.folder.run(['audit', '--json'], env()));
    expect(entries.slice(0, 2).map(({ action }) => action)).toEqual(['resume', 'pause']);
  });

  it('has a repair after a failover in both places, and none that only looks', async () => {
    for (const options of [[], ['--apply', '--fail']]) {
      expect(await fleet.folder.run(['recover', '--after-failover', ...options], env())).toMatchObject({ code: 0 });
    }
    const { entries } = await fleet.folder.json<Page>(fleet.folder.run(['audit', '--json'], env()));
    const after = { jobs: 3, elections: 0, refused: 0, raiseBy: 1_000_000, runs: 'fail' };
    expect(entries[0]).toMatchObject({ action: 'recover', target: 'jobs', state: 'done', after });
    expect(entries.filter(({ action }) => action === 'recover')).toHaveLength(1);
  });
});
