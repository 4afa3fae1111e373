import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { DrillReport } from '../../src/cli/drill/drill';
import { allGone } from '../support/dev-run';

const MAIN = path.join(__dirname, '../../dist/lib/cli/main.js');
/** A drill waits for leases, and for processes on a busy machine. */
const SLOW = 300_000;

let folder: string;
let temporary: string;
beforeAll(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'drill-'));
  temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'drill-temporary-'));
});

/** `cronlease drill`, with ticks that come often. */
function drill(...args: readonly string[]) {
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('CRONLEASE_'));
  const child = spawn(process.execPath, [MAIN, 'drill', ...args], {
    cwd: folder,
    env: { ...Object.fromEntries(clean), CRONLEASE_TICK: '*/5 * * * * *', TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed.err += text));
  const exited = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.on('close', (code, signal) => resolve(signal ?? code));
  });
  return { pid: child.pid ?? 0, printed, exited };
}

function childrenOf(pid: number): number[] {
  const all = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const pairs = all.map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([child, parent]) => (parent === pid && child !== undefined ? [child] : []));
}

describe('cronlease drill', () => {
  it('kills a deployment that works, sees its work done elsewhere, and reports it', { timeout: SLOW }, async () => {
    // The emulator and three deployments compete with other tests for two cores.
    const run = drill('--json', '--report', 'audit.md', '--target', '60s');
    const code = await run.exited;
    expect(code, run.printed.err + run.printed.out).toBe(0);
    const report = JSON.parse(run.printed.out) as DrillReport;
    expect(report).toMatchObject({ ok: true, duplicates: [], losses: [], revision: 1 });
    expect(report.checks.map(({ name, ok }) => [name, ok])).toEqual([
      ...['take-over', 'interrupted runs ended', 'catch-up', 'duplicates', 'losses'].map((name) => [name, true]),
      ['the deployment came back', true],
    ]);
    const { stopped, interrupted, jobs } = report;
    const long = interrupted.find(({ job }) => job === 'drill-long');
    expect(long).toMatchObject({ outcome: 'succeeded' });
    expect(long?.takenOverBy).not.toBe(stopped.deployment);
    expect(long?.takeOverMs).toBeGreaterThan(1_000);
    const taken = jobs
      .flatMap(({ dueTimes }) => dueTimes)
      .find(({ attempts }) => attempts.some(({ outcome }) => outcome === 'holderLost'));
    expect(taken?.attempts.map(({ deployment }) => deployment)).toEqual([stopped.deployment, long?.takenOverBy]);
    for (const { dueTimes } of jobs) expect(dueTimes.length).toBeGreaterThanOrEqual(2);

    const text = fs.readFileSync(path.join(folder, 'audit.md'), 'utf8');
    expect(text).toMatch(/^# Failover drill: passed\n/);
    for (const { at, what } of report.steps) expect(text).toContain(`| ${at} | ${what} |`);
    expect(text).toContain(`| ${long?.runId ?? ''} | ${long?.takenOverBy ?? ''} |`);
    // Nothing is left of what it ran.
    expect(fs.readdirSync(folder)).toEqual(['audit.md']);
    expect(fs.readdirSync(temporary)).toEqual([]);
  });

  it.each(['SIGINT', 'SIGKILL'] as const)('leaves nothing behind when it is ended by %s', async (signal) => {
    const run = drill('--report', 'stopped.md');
    // A guard, the emulator, three instances.
    const children = await vi.waitFor(
      () => {
        const found = childrenOf(run.pid);
        expect(found.length).toBeGreaterThanOrEqual(5);
        return found;
      },
      { timeout: 60_000, interval: 50 },
    );
    expect(fs.readdirSync(temporary)).toHaveLength(2);
    process.kill(run.pid, signal);
    expect(await run.exited).toBe(signal === 'SIGINT' ? 1 : signal);
    await allGone(children);
    expect(fs.readdirSync(temporary)).toEqual([]);
    expect(fs.existsSync(path.join(folder, 'stopped.md'))).toBe(false);
  });

  it('refuses what it cannot do, before it starts anything', async () => {
    const runs = [drill('--target', 'soon'), drill('--report', 'no/such/folder/x.md'), drill('--app', '.')];
    expect(await Promise.all(runs.map(({ exited }) => exited))).toEqual([2, 2, 2]);
    expect(runs.map(({ printed }) => printed.err).join('')).toMatch(/"soon".*no folder.*--with-jobs/s);
    const unknown = drill('--with-jobs', '--json');
    expect(await unknown.exited).toBe(1);
    expect(JSON.parse(unknown.printed.out)).toMatchObject({ error: { code: 'InvalidJobs' } });
  });
});
