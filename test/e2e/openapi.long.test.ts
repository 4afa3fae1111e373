import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { root } from '../support/program';

const PROGRAM = `import type { components, paths } from './api';

type Run = NonNullable<paths['/jobs/{job}/runs']['post']['requestBody']>['content']['application/json'];
export const bodies: Run[] = [{ input: { day: '2026-01-31', deep: [1, null] } }, { input: 7 }, { input: null, note: 'a test' }];
// @ts-expect-error: a note is a text
export const wrong: Run = { input: 7, note: 1 };
// @ts-expect-error: a run has no such member
export const unknown: Run = { inputs: 1 };
export const job = ({ name, state }: components['schemas']['Job']): string => name + state;
export const answer: paths['/jobs']['get']['responses'][200]['content']['application/json']['jobs'] = [];
`;
let folder: string;

/** The generator needs a TypeScript that has an interface for programs. */
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'cronlease-openapi-'));
  const packages = ['openapi-typescript@7.13.0', 'typescript@5.9.3'];
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--prefix', folder, ...packages], {
    ...{ cwd: folder, shell: process.platform === 'win32' },
  });
}, 240_000);

it('makes types of the OpenAPI document that compile', { timeout: 120_000 }, () => {
  copyFileSync(path.join(root, 'schema/openapi.json'), path.join(folder, 'openapi.json'));
  writeFileSync(path.join(folder, 'program.ts'), PROGRAM);
  const modules = path.join(folder, 'node_modules');
  const generator = path.join(modules, 'openapi-typescript/bin/cli.js');
  execFileSync(process.execPath, [generator, 'openapi.json', '--output', 'api.ts'], { cwd: folder, stdio: 'pipe' });
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--moduleResolution', 'node16', '--module', 'node16'];
  const tsc = path.join(modules, 'typescript/bin/tsc');
  expect(spawnSync(process.execPath, [tsc, ...options, 'program.ts'], { cwd: folder, encoding: 'utf8' }).stdout).toBe(
    '',
  );
});
