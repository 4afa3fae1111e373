import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const script = path.join(__dirname, '../../scripts/deploy.mjs');
/** What a shell of Windows or of another system would make something of. */
const NAME = 'x" & echo broken > broken & %PATH% $(touch broken) `id` ^ "';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'cronlease shell '));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A program that writes down what it is called with, and refuses. */
function recorder(file: string): void {
  mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
  writeFileSync(
    path.join(folder, file),
    `#!${process.execPath}\nrequire('fs').appendFileSync(${JSON.stringify(path.join(folder, 'calls'))}, ` +
      `JSON.stringify(process.argv.slice(2)) + '\\n');\nprocess.exit(3);\n`,
  );
  chmodSync(path.join(folder, file), 0o755);
}

/** Runs deploy.mjs as on Windows, as far as a script can tell. */
function deploy(onPath: string): { readonly text: string; readonly calls: readonly string[][] } {
  writeFileSync(path.join(folder, 'windows.cjs'), "Object.defineProperty(process, 'platform', { value: 'win32' });");
  const { stdout, stderr } = spawnSync(process.execPath, ['-r', './windows.cjs', script, '--deployment', NAME], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: `${path.join(folder, 'nothing')}${path.delimiter}${path.join(folder, onPath)}` },
  });
  const calls = path.join(folder, 'calls');
  const lines = existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [];
  return { text: stdout + stderr, calls: lines.map((line) => JSON.parse(line) as string[]) };
}

it.each([
  ['the installer', 'CLI2/wbin', 'CLI2/python.exe'],
  ['pip', 'Python/Scripts', 'Python/Scripts/python.exe'],
])('on Windows az of %s gets each argument as it is, without a shell', (_, bin, python) => {
  mkdirSync(path.join(folder, bin), { recursive: true });
  writeFileSync(path.join(folder, bin, 'az.cmd'), 'a shell would run this');
  recorder(python);
  const { text, calls } = deploy(bin);
  expect(calls).toEqual([
    [
      ...['-IBm', 'azure.cli', 'deployment', 'sub', 'show', '--name', NAME],
      '--query',
      'properties.outputs',
      ...['--output', 'json'],
    ],
  ]);
  expect(text).toContain('az ended with 3');
  expect(existsSync(path.join(folder, 'broken'))).toBe(false);
});

it('on Windows says that az was not found', () => {
  mkdirSync(path.join(folder, 'empty'));
  expect(deploy('empty').text).toContain('az was not found: install the Azure CLI');
});

it('has no shell anywhere', () => {
  expect(readFileSync(script, 'utf8')).not.toMatch(/\bshell\b\s*:|\bexec(?:Sync)?\(/);
});
