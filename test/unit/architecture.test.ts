import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { oversized } from '../support/function-sizes';
import { circles, sourceFiles, violations } from '../support/rooms';

const files = sourceFiles(path.join(__dirname, '../../src'));

describe('the rooms of the source', () => {
  it('import only what they may', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(violations(files)).toEqual([]);
  });

  it.each([
    ['core/planted.ts', "import { drain } from '../coordinator/drain';"],
    ['core/planted.ts', "export * from '../lease/store';"],
    ['coordinator/planted.ts', "import { createTicker } from './tick/tick';"],
    ['coordinator/tick/planted.ts', "import { claimAttempt } from '../attempt/claim';"],
    ['coordinator/attempt/planted.ts', "import { handOver } from '../tick/race';"],
    ['coordinator/planted.ts', "import type { ContainerClient } from '@azure/storage-blob';"],
    ['lease/planted.ts', "const late = await import('../stores/memory/store');"],
    ['functions/planted.ts', "import { azureBlobStore } from '../stores/azure-blob/store';"],
    ['stores/memory/planted.ts', "import { app } from '@azure/functions';"],
  ])('a planted violation in %s is seen: %s', (file, text) => {
    expect(violations([{ file, text }])).toHaveLength(1);
  });
});

it('the dashboard takes nothing but types from the server, and modules of the core and of the client that need no others', () => {
  const imports = /^(?:import|export) (?!type ).* from '(\.[^']*)'/gm;
  const taken = files
    .filter(({ file }) => file.startsWith('dashboard/'))
    .flatMap(({ file, text }) => [...text.matchAll(imports)].map(([, from = '']) => path.posix.join(file, '..', from)))
    .filter((from) => !from.startsWith('dashboard/'));
  const alone = files.filter(
    ({ file, text }) => /^(?:core|client)\//.test(file) && [...text.matchAll(imports)].length === 0,
  );
  expect(taken.filter((from) => !alone.some(({ file }) => file === `${from}.ts`))).toEqual([]);
});

describe('the files of the source', () => {
  it('do not import in a circle', () => {
    expect(circles(files)).toEqual([]);
  });

  it('are found where they do', () => {
    const planted = [
      { file: 'core/a.ts', text: "import type { B } from './b';" },
      { file: 'core/b.ts', text: "export { c } from './c';" },
      { file: 'core/c.ts', text: "import { a } from './a';" },
      { file: 'core/d.ts', text: "import { a } from './a';" },
    ];
    expect(circles(planted)).toEqual(['core/a.ts ↔ core/b.ts ↔ core/c.ts']);
  });
});

describe('a call that is safe in one order alone', () => {
  const calls = (method: string, ...places: readonly string[]): readonly string[] =>
    files
      .filter(({ file }) => places.some((place) => file.startsWith(place)))
      .flatMap(({ text }) => text.match(new RegExp(`\\bstore\\.${method}\\([^;]*?\\)`, 'g')) ?? []);

  it('is written once: acquire', () => {
    expect(calls('acquire', 'coordinator/', 'election/', 'lease/acquire.ts')).toHaveLength(1);
  });

  it.each(['coordinator/', 'election/'])('is written once in %s: writeRow', (folder) => {
    expect(calls('writeRow', folder)).toHaveLength(1);
  });

  it('releases the version of the row that it knows, since a late release must not end a later claim', () => {
    const releases = calls('release', 'coordinator/', 'election/', 'lease/acquire.ts');
    expect(releases.length).toBeGreaterThan(0);
    expect(releases.filter((call) => !call.includes('ifMatch'))).toEqual([]);
  });
});

describe('the functions of the source', () => {
  it('are short and take few parameters', () => {
    expect(oversized(files)).toEqual([]);
  });

  it.each([
    ['a long one', `function planted() {\n${'  act();\n'.repeat(60)}}`],
    ['one with long closures', `function planted() {\n${'  const f = () => {\n act();\n};\n'.repeat(45)}}`],
    ['one with six parameters', 'const planted = (a, b, c, d, e, f) => a;'],
  ])('are found where they grow: %s', (_, text) => {
    expect(oversized([{ file: 'planted.ts', text }])).toHaveLength(1);
  });
});

it('the files of the benchmark keep the same rules', () => {
  const folder = path.join(__dirname, '../../bench');
  const bench = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /^(?!node_modules|\.tmp).*\.ts$/.test(file))
    .map((file) => ({ file: file.split(path.sep).join('/'), text: readFileSync(path.join(folder, file), 'utf8') }));
  expect(bench.length).toBeGreaterThan(30);
  expect(circles(bench)).toEqual([]);
  expect(oversized(bench)).toEqual([]);
});
