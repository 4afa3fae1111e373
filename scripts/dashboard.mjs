// Bundles src/dashboard into one module: the page, and its files, each under a name that has the hash of its content.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const root = path.join(import.meta.dirname, '..');
const TYPES = { '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml' };

/** The page and its files, as src/dashboard/files.d.ts describes them. */
export async function buildDashboard() {
  const source = (name) => readFileSync(path.join(root, 'src/dashboard', name));
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['src/dashboard/main.tsx', 'src/dashboard/style.css'],
    bundle: true,
    minify: true,
    write: false,
    outdir: 'out',
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    tsconfig: 'src/dashboard/tsconfig.json',
    legalComments: 'none',
    logLevel: 'warning',
  });
  const built = outputFiles.map(({ path: file, contents }) => [path.basename(file), Buffer.from(contents)]);
  const files = {};
  let index = source('index.html').toString('utf8');
  const all = Object.fromEntries([...built, ['icon.svg', source('icon.svg')]]);
  for (const [name, content] of Object.entries(all)) {
    const { name: stem, ext } = path.parse(name);
    const hashed = `${stem}-${createHash('sha256').update(content).digest('hex').slice(0, 16)}${ext}`;
    if (!index.includes(`assets/${name}`)) throw new Error(`src/dashboard/index.html does not refer to assets/${name}`);
    index = index.replaceAll(`assets/${name}`, `assets/${hashed}`);
    files[hashed] = { type: TYPES[ext], gzip: gzipSync(content, { level: 9 }).toString('base64') };
  }
  return { index: index.replaceAll(/\n\s*/g, '\n'), files };
}

/** The text of the module `dashboard/files.js`. */
export function moduleOf(dashboard) {
  return `'use strict';\nexports.DASHBOARD = ${JSON.stringify(dashboard)};\n`;
}
