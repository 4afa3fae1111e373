import { buildSync } from 'esbuild';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload, createRequire } from 'node:module';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { toMinify, writeMinified } from '../../scripts/minify.mjs';
import { scratchFolder } from '../support/scratch';

const SOURCE = `/*! Licensed by its author. */
import { packaged, PackagedError } from 'packaged';
class LateError extends Error {}
const arrow = async () => arrow;
export function longEnoughToBeShortened(unusuallyNamed) {
  const inner = (alsoNamed) => new LateError(unusuallyNamed + alsoNamed);
  const own = [LateError.name, arrow.name, longEnoughToBeShortened.name, inner.name];
  return { own, others: [PackagedError.name, packaged().name], made: inner('!') };
}
`;
const PACKAGE = `export class PackagedError extends Error {}
export function packaged() { return packaged; }
`;

interface Built {
  longEnoughToBeShortened(text: string): {
    readonly own: readonly string[];
    readonly others: readonly string[];
    readonly made: Error;
  };
}

describe('a bundle that is shortened', () => {
  const folder = scratchFolder('minify');
  const entry = path.join(folder, 'source.js');
  const outfile = path.join(folder, 'out/app.js');
  writeFileSync(entry, SOURCE);
  mkdirSync(path.join(folder, 'node_modules/packaged'), { recursive: true });
  writeFileSync(path.join(folder, 'node_modules/packaged/index.js'), PACKAGE);
  writeMinified(
    buildSync({ ...toMinify, absWorkingDir: folder, entryPoints: [entry], outfile, format: 'cjs', sourcemap: true }),
  );
  const code = readFileSync(outfile, 'utf8');

  it('keeps the names of classes and of own functions, without naming them anew', () => {
    const { longEnoughToBeShortened } = createRequire(outfile)(outfile) as Built;
    const { own, others, made } = longEnoughToBeShortened('late');
    expect(own).toEqual(['LateError', 'arrow', 'longEnoughToBeShortened', 'inner']);
    expect(others).toEqual(['PackagedError', expect.stringMatching(/^\w{1,2}$/)]);
    expect(made.message).toBe('late!');
    expect(code).not.toMatch(/unusuallyNamed|alsoNamed|__name/);
  });

  it('keeps licences, and ends with a map that leads to the source', () => {
    expect(code).toContain('Licensed by its author.');
    expect(code).toMatch(/\n\/\/# sourceMappingURL=app\.js\.map\n$/);
    const map = new SourceMap(JSON.parse(readFileSync(`${outfile}.map`, 'utf8')) as SourceMapPayload);
    const lines = code.split('\n');
    const line = lines.findIndex((text) => text.includes('new LateError'));
    const found = map.findEntry(line, lines[line]?.indexOf('new LateError') ?? 0);
    expect(found).toMatchObject({ originalSource: '../source.js', originalLine: 5 });
  });

  it('is refused where it cannot be read', () => {
    const broken = { path: outfile, text: 'let (', contents: new Uint8Array(), hash: '' };
    expect(() => {
      writeMinified({ outputFiles: [broken] });
    }).toThrow(`${outfile} cannot be shortened: `);
  });
});
