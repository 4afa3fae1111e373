// Runs histories of the simulator on all cores until one fails: npm run soak -- --help
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { build } from 'esbuild';
import { scratchFolder } from './remove-with-process.mjs';

const root = path.join(import.meta.dirname, '..');
const folder = scratchFolder(path.join(root, '.tmp'), 'soak-');
const outfile = path.join(folder, 'soak.cjs');
await build({
  absWorkingDir: root,
  entryPoints: ['test/simulation/search/soak.ts'],
  outfile,
  bundle: true,
  platform: 'node',
  target: 'node22',
  format: 'cjs',
  packages: 'external',
  logLevel: 'warning',
});
const { status } = spawnSync(process.execPath, [outfile, ...process.argv.slice(2)], {
  cwd: root,
  env: { ...process.env, SCRATCH: folder },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
