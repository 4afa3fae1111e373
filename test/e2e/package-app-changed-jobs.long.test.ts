import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ownClone } from '../support/own-clone';

const root = path.join(__dirname, '../..');
const GREET = { schedule: '* * * * *', input: { name: 'you' } };
const GREET_ALL = { schedule: '@daily' };
const BASE = { revision: 1, jobs: { greet: GREET, 'greet-all': GREET_ALL } };
let clone: string;
let folder: string;
let file: string;

function git(...args: readonly string[]): void {
  const person = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
  execFileSync('git', [...person, ...args], { cwd: folder, stdio: 'ignore' });
}

beforeAll(() => {
  clone = ownClone();
  folder = mkdtempSync(path.join(tmpdir(), 'cronlease-changed-'));
  file = path.join(folder, 'jobs.json');
  git('init', '-b', 'main');
  git('commit', '--allow-empty', '-m', 'empty');
  git('tag', 'empty');
  writeFileSync(file, JSON.stringify(BASE));
  git('add', 'jobs.json');
  git('commit', '-m', 'base');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function compare(head: object, ref = 'main'): { code: number | null; text: string } {
  writeFileSync(file, JSON.stringify(head));
  const command = [path.join(clone, 'scripts/changed-jobs.mjs'), ref, '--file', file];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  return { code: status, text: stdout + stderr };
}

it('shows what jobs that were added, changed and removed do and cost', () => {
  const { code, text } = compare({
    revision: 2,
    jobs: {
      greet: { ...GREET, schedule: '30 2 * * *', timeZone: 'Europe/Paris' },
      leader: { ...GREET, schedule: '@always', handler: 'greet' },
    },
  });
  expect(code, text).toBe(0);
  expect(text).toContain('Since main: 1 added, 1 changed, 1 removed');
  expect(text).toMatch(/~ greet +changed: schedule, timeZone/);
  expect(text).toMatch(/clocks {2}\d{4}-03-\d\d the clocks skip 02:30/);
  expect(text).toContain('"cronlease');
  const costs = text.slice(text.indexOf('### Costs'));
  expect(costs).toMatch(/\$[\d.]+ a month at main, \$[\d.]+ now: \+\$/);
  expect(costs).toMatch(/^greet +43,200 +30 /m);
  // The skipped time is a warning, too, which says what to do.
  expect(text.slice(text.indexOf('### Warnings'))).toContain('jobs.greet.schedule = "30 2 * * *"');
  expect(text.split('\n').filter((line) => line.startsWith('```'))).toHaveLength(6);
});

it('says when nothing changed', () => {
  const { text } = compare({ ...BASE, revision: 5 });
  expect(text).toContain('No job is added, changed or removed since main.');
  expect(text).toContain('now: no change');
});

it('counts every job as added where there is nothing to compare with', () => {
  const { code, text } = compare({ jobs: { greet: GREET } }, 'empty');
  expect(code).toBe(0);
  expect(text).toContain('every job counts as added');
  expect(text).toMatch(/\+ greet +added/);
});

it('shows warnings', () => {
  const { code, text } = compare({ jobs: { greet: { ...GREET, schedule: '0 0 1 * 1' } } });
  expect(code).toBe(0);
  expect(text.slice(text.indexOf('### Warnings'))).toContain('as in Vixie cron');
});

it('says what is wrong with a file that is not valid, and lets its text mean nothing in Markdown', () => {
  const bad = { jobs: { greet: { ...GREET, schedule: '``` </details> @team' }, unknown: GREET_ALL } };
  const { code, text } = compare(bad);
  expect(code).toBe(1);
  expect(text).toContain('2 errors');
  expect(text).toContain('jobs.unknown');
  expect(text.split('\n').filter((line) => line.startsWith('````'))).toEqual(['````text', '````']);
});

it('fails where the revision is unknown', () => {
  const { code, text } = compare(BASE, 'no-such-branch');
  expect(code).toBe(1);
  expect(text).toContain('git knows no such commit');
});

it('is what the repository itself passes', () => {
  const command = [path.join(root, 'scripts/changed-jobs.mjs'), 'HEAD'];
  const { status, stderr } = spawnSync(process.execPath, command, { cwd: root, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
});
