import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, vi } from 'vitest';

const SETUP = path.join(__dirname, '../support/scratch-setup.mjs');

/** A process that sets up a run of the tests, as vitest does, prints the run's folders and waits. */
async function setUp() {
  const program = `
    import setup from ${JSON.stringify(SETUP)};
    setup();
    console.log(JSON.stringify([process.env.TMPDIR, process.env.SCRATCH]));
    process.stdin.once('data', () => process.exit());`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => {
    child.once('exit', resolve);
  });
  const line = await new Promise<string>((resolve) => {
    child.stdout.setEncoding('utf8').once('data', resolve);
  });
  const folders = JSON.parse(line) as readonly string[];
  for (const folder of folders) writeFileSync(path.join(mkdtempSync(path.join(folder, 'of-a-test-')), 'file'), '');
  return { child, exited, folders };
}

it('the tests and the processes that they start use the temporary folder of this run', () => {
  expect(path.basename(tmpdir())).toMatch(/^cronlease-test-/);
});

it('the folders of a run are removed when it ends', async () => {
  const { child, exited, folders } = await setUp();
  child.stdin.write('end\n');
  await exited;
  expect(folders).toHaveLength(2);
  expect(folders.filter(existsSync)).toEqual([]);
});

it('the folders of a run are removed when it is killed', async () => {
  const { child, exited, folders } = await setUp();
  for (const folder of folders) expect(readdirSync(folder)).toHaveLength(1);
  child.kill('SIGKILL');
  await exited;
  await vi.waitFor(() => expect(folders.filter(existsSync)).toEqual([]), { timeout: 20_000, interval: 20 });
});
