import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliFolder, cliFolder } from '../support/cli-build';

const PRICES = path.join(__dirname, '../../prices.json');

let folder: CliFolder;

beforeAll(() => {
  folder = cliFolder();
  const git = (...args: readonly string[]): void => {
    const person = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
    execFileSync('git', [...person, ...args], { cwd: folder.path, stdio: 'ignore' });
  };
  git('init', '-b', 'main');
  folder.write('README', '');
  git('add', 'README');
  git('commit', '-m', 'empty');
  git('tag', 'empty');
  folder.write('jobs.json', '{"jobs": {"a": ');
  git('add', 'jobs.json');
  git('commit', '-m', 'broken');
  git('tag', 'broken');
  folder.write('jobs.json', { jobs: { often: { schedule: '* * * * *' }, gone: { schedule: '@daily' } } });
  git('add', 'jobs.json');
  git('commit', '-m', 'first');
  folder.write('jobs.json', { jobs: { often: { schedule: '*/5 * * * *' }, leader: { schedule: '@always' } } });
});

afterAll(() => folder.remove());

interface Estimate {
  readonly total: number;
  readonly jobs: readonly { readonly job: string; readonly runs: number }[];
}

describe.concurrent('cronlease plan', () => {
  it('lists starts in a terminal', async () => {
    const { code, stdout } = await folder.run(['plan', '--from', '2026-03-28', '--to', '2026-03-29', '--limit', '3']);
    expect(code).toBe(0);
    expect(stdout).toContain('2026-03-28T00:00:00Z to 2026-03-29T00:00:00Z: 288 starts');
    expect(stdout).toContain('The list ends at 2026-03-28T00:10:00Z; 285 later starts are left out');
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('prints documents, and says on standard error what they leave out', async () => {
    const args = ['plan', '--from', '2026-03-28', '--limit', '2'];
    const json = await folder.run([...args, '--json']);
    expect(JSON.parse(json.stdout)).toEqual([
      expect.objectContaining({ job: 'often', scheduledFor: '2026-03-28T00:00:00.000Z', notes: [] }),
      {
        job: 'often',
        scheduledFor: '2026-03-28T00:05:00.000Z',
        runsAt: '2026-03-28T00:05:00.000Z',
        local: '2026-03-28T00:05:00Z',
        notes: [],
      },
    ]);
    expect(json.stderr).toContain('286 later starts are left out');
    const ics = await folder.run([...args, '--ics']);
    expect(ics.stdout.match(/^DTSTART:\d{8}T\d{6}Z\r$/gm)).toHaveLength(2);
    expect(ics.stderr).toContain('286 later starts are left out');
  });

  it('compares with a revision of git', async () => {
    const { stdout } = await folder.run(['plan', '--against', 'main']);
    expect(stdout).toContain('Since main: 1 added, 1 changed, 1 removed');
    const { changes } = await folder.json<{ changes: readonly object[] }>(
      folder.run(['plan', '--against', 'main', '--json']),
    );
    expect(changes).toEqual([
      expect.objectContaining({ job: 'gone', change: 'removed', after: null }),
      expect.objectContaining({ job: 'leader', change: 'added', before: null }),
      expect.objectContaining({ job: 'often', change: 'changed', settings: ['schedule'] }),
    ]);
    const { stderr } = await folder.run(['plan', '--against', 'broken']);
    expect(stderr).toContain('every job counts as added');
  });

  it.each([
    [['--from', '2026-03-28', '--to', '2026-03-28'], '--to must be later'],
    [['--from', '2026-03-28', '--to', '2036-03-28'], 'within 5 years'],
    [['--against', 'main', '--to', '2036-03-28'], 'leave out --to'],
    [['--against', 'main', '--ics'], 'leave out --ics'],
    [['--json', '--ics'], 'cannot be used with'],
    [['--limit', '0'], 'from 1 to 100000'],
    [['--from', 'soon'], '--from "soon"'],
  ])('refuses %j', async (args, problem) => {
    const { code, stderr } = await folder.run(['plan', ...args]);
    expect(stderr).toContain(problem);
    expect(code).toBe(2);
  });
});

describe.concurrent('cronlease cost', () => {
  const cost = (...args: readonly string[]) => folder.run(['cost', '--prices', PRICES, ...args]);

  it('fits into a terminal', async () => {
    const { code, stdout } = await cost('--deployments', '2', '--memory', '512', '--items', 'often=7');
    expect(code).toBe(0);
    expect(stdout).toContain('2 deployments of 512 MB');
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('prints one document', async () => {
    const document = await folder.json<Estimate>(cost('--json', '--duration', '5m'));
    expect(document).toMatchObject({
      prices: { checked: false },
      assumptions: { deployments: 1, memoryMb: 2048, alwaysReady: 0, duration: '5m', retries: 0 },
    });
    expect(document.jobs.find(({ job }) => job === 'often')?.runs).toBe(8_640);
  });

  it('compares with a revision of git', async () => {
    const { before, after } = await folder.json<{ before: Estimate; after: Estimate }>(
      cost('--against', 'main', '--json'),
    );
    expect(before.jobs.map(({ job }) => job)).toEqual(['often', 'gone']);
    expect(after.jobs.map(({ job }) => job)).toEqual(['leader', 'often']);
    const { stdout } = await cost('--against', 'main');
    expect(stdout).toMatch(/^\$[\d.]+ a month at main, \$[\d.]+ now: \+\$/);
  });

  it('counts every job as added where the revision has no usable file', async () => {
    for (const [ref, notice] of [
      ['empty', 'empty has no jobs.json'],
      ['broken', 'broken has a jobs.json that is not valid'],
    ] as const) {
      const { code, stderr } = await cost('--against', ref);
      expect(code).toBe(0);
      expect(stderr).toContain(`${notice}: every job counts as added.`);
    }
  });

  it.each([
    [['--against', 'no-such-branch'], 1, 'git knows no such commit'],
    [['--against', '--output=x'], 2, 'is not a git revision'],
    [['--items', 'often'], 2, 'must be JOB=N'],
    [['--items', 'often=0'], 2, 'must be JOB=N'],
    [['--items', 'none=3'], 2, 'the file has no job "none"'],
    [['--duration', 'long'], 2, 'It must be a duration'],
    [['--memory', '1'], 2, 'from 512 to 4096'],
    [['--prices', 'nowhere.json'], 1, 'cannot be read'],
    [['--prices', 'README'], 1, 'is not JSON'],
  ])('refuses %j with exit code %d', async (args, expected, problem) => {
    const { code, stderr } = await cost(...args);
    expect(stderr).toContain(problem);
    expect(code).toBe(expected);
  });

  it('says where --against needs a repository', async () => {
    const { code, stderr } = await folder.run(
      ['cost', '--prices', PRICES, '--file', path.join(folder.path, 'jobs.json'), '--against', 'main'],
      {
        GIT_DIR: '/nowhere',
      },
    );
    expect(code).toBe(1);
    expect(stderr).toContain('git knows no such commit');
  });
});
