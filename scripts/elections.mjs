// Compares election algorithms in a simulated network: npm run elections -- --help
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { build } from 'esbuild';
import { scratchFolder } from './remove-with-process.mjs';

const root = path.join(import.meta.dirname, '..');
const outfile = path.join(scratchFolder(path.join(root, '.tmp'), 'elections-'), 'elections.cjs');
await build({
  absWorkingDir: root,
  entryPoints: ['test/elections/main.ts'],
  outfile,
  bundle: true,
  platform: 'node',
  target: 'node22',
  format: 'cjs',
  packages: 'external',
  logLevel: 'warning',
});
const { status } = spawnSync(process.execPath, [outfile, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
process.exitCode = status ?? 1;
