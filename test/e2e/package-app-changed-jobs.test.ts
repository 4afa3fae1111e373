import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = path.join(__dirname, '../..');
const REPORT = { schedule: '* * * * *', input: { containers: ['samples'], target: 'samples' } };
const PURGE = { schedule: '@daily', input: { container: 'samples', olderThan: '1d' } };
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'cronlease-changed-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Undefined: there is no such file. */
function compare(base: object | undefined, head: object): { code: number | null; text: string } {
  const files = Object.entries({ base, head }).map(([name, jobs]) => {
    const file = path.join(folder, `${name}.json`);
    rmSync(file, { force: true });
    if (jobs !== undefined) writeFileSync(file, JSON.stringify(jobs));
    return file;
  });
  const command = [path.join(root, 'scripts/changed-jobs.mjs'), ...files, '--from', '2026-03-28T00:30:00Z'];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  return { code: status, text: stdout + stderr };
}

it('shows the next five due times of jobs that were added and changed', () => {
  const moved = { ...REPORT, schedule: '30 2 * * *', timeZone: 'Europe/Paris' };
  const { code, text } = compare(
    { revision: 1, jobs: { 'storage-report': REPORT, 'purge-old-reports': PURGE } },
    {
      revision: 2,
      jobs: {
        'storage-report': moved,
        'purge-old-reports': PURGE,
        leader: { ...PURGE, schedule: '@always', handler: 'purge-old-reports' },
      },
    },
  );
  expect(code, text).toBe(0);
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  expect(rows).toEqual([
    '| `leader` | added | `@always` UTC | no due times: a leader job runs all the time |',
    // The clock skips 02:30 on the 29th.
    '| `storage-report` | changed: `schedule`, `timeZone` | `30 2 * * *` Europe/Paris | ' +
      '2026-03-28T01:30:00Z (2026-03-28T02:30:00+01:00 Europe/Paris)<br>2026-03-29T01:00:00Z (2026-03-29T03:00:00+02:00 Europe/Paris)<br>' +
      '2026-03-30T00:30:00Z (2026-03-30T02:30:00+02:00 Europe/Paris)<br>2026-03-31T00:30:00Z (2026-03-31T02:30:00+02:00 Europe/Paris)<br>' +
      '2026-04-01T00:30:00Z (2026-04-01T02:30:00+02:00 Europe/Paris) |',
  ]);
});

it('names what was removed, what is disabled, and when nothing changed', () => {
  const both = { jobs: { 'storage-report': REPORT, 'purge-old-reports': PURGE } };
  const { text } = compare(both, { jobs: { 'storage-report': { ...REPORT, enabled: false } } });
  expect(text).toContain('| `purge-old-reports` | removed |');
  expect(text).toContain('disabled: none of these will run<br>2026-03-28T00:31:00Z<br>');
  expect(compare(both, { revision: 5, ...both }).text).toContain('No job is added, changed or removed.');
});

it('counts every job as added where there is nothing to compare with', () => {
  for (const base of [undefined, {}]) {
    const { code, text } = compare(base, { jobs: { 'storage-report': REPORT } });
    expect(code).toBe(0);
    expect(text).toContain('every job counts as added');
    expect(text).toContain('| `storage-report` | added |');
  }
});

it('says what is wrong with a file that is not valid, and lets its text mean nothing in Markdown', () => {
  const bad = { jobs: { 'storage-report': { ...REPORT, schedule: '``` </details> @team' }, unknown: PURGE } };
  const { code, text } = compare({ jobs: {} }, bad);
  expect(code).toBe(1);
  expect(text).toContain('2 errors');
  expect(text).toContain('jobs.unknown');
  expect(text.split('\n').filter((line) => line.startsWith('````'))).toEqual(['````text', '````']);
});

it('is what the repository itself passes', () => {
  const file = path.join(root, 'jobs.json');
  const command = [path.join(root, 'scripts/changed-jobs.mjs'), file, file];
  expect(execFileSync(process.execPath, command, { encoding: 'utf8' })).toContain('No job is');
});
