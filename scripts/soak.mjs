// Runs histories of the simulator on all cores until one fails: npm run soak -- --help
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

const root = path.join(import.meta.dirname, '..');
const folder = path.join(root, '.tmp/simulation');
mkdirSync(folder, { recursive: true });
const outfile = path.join(folder, `soak-${String(process.pid)}.cjs`);
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
try {
  const { status } = spawnSync(process.execPath, [outfile, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
  process.exitCode = status ?? 1;
} finally {
  rmSync(outfile, { force: true });
}
