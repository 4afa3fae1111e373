import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { sourceFiles } from '../../src/cli/dev/reload';
import { scratchFolder } from '../support/scratch';

function sourcesOf(files: readonly string[]): readonly string[] {
  const app = scratchFolder('sources');
  for (const file of files) {
    mkdirSync(path.dirname(path.join(app, file)), { recursive: true });
    writeFileSync(path.join(app, file), '');
  }
  return sourceFiles(app)
    .map((file) => path.relative(app, file))
    .toSorted();
}

it('watches the sources of an app wherever they lie, and nothing that a build writes', () => {
  const built = ['dist/src/a.js', 'dist/src/a.d.ts', 'lib/types/a.d.mts', 'node_modules/x/x.ts', '.cache/a.ts'];
  expect(sourcesOf(['src/functions/a.ts', 'src/b.js', 'shared/c.mts', 'functions/d.ts', ...built])).toEqual([
    ...['functions/d.ts', 'shared/c.mts', 'src/b.js', 'src/functions/a.ts'],
  ]);
});

it('watches all code of an app without src, but for declarations', () => {
  expect(sourcesOf(['hello/index.ts', 'lib/a.js', 'lib/a.d.ts', 'node_modules/x/x.js'])).toEqual([
    ...['hello/index.ts', 'lib/a.js'],
  ]);
});
