import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readSitting } from '../../bench/report/publish';

const root = path.join(__dirname, '../..');

it('the benchmark measures a peer and cronlease, and writes its page', { timeout: 300_000 }, () => {
  const out = mkdtempSync(path.join(tmpdir(), 'bench-'));
  const args = ['--systems', 'croner,cronlease', '--loads', '1/s', '--parts', 'loads', '--skew', '0'];
  execFileSync(process.execPath, ['scripts/bench.mjs', ...args, '--repetitions', '1', '--seconds', '3', '--out', out], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const { results, failures } = readSitting(out);
  expect(failures).toEqual([]);
  expect(results.map(({ system, figures }) => [system, figures.dueTimes, figures.duplicates])).toEqual([
    ['croner', 3, 0],
    ['cronlease', 3, 0],
  ]);
  for (const { figures, runs, usage } of results) {
    // What a busy machine keeps from running is recorded.
    expect(figures.unrecorded).toBe(0);
    expect(runs).toBeGreaterThan(0);
    expect(usage.workerMb).toBeGreaterThan(20);
  }
  expect(results[1]?.usage.hubWork?.turns).toBeGreaterThan(results[1]?.usage.hubWork?.orchestrations ?? Infinity);
  expect(results[1]?.usage.calls).toMatchObject({ acquire: expect.any(Number) as number });
  expect(readFileSync(path.join(out, 'performance.md'), 'utf8')).toContain('## 1 job a second');
});
