// Plays faults against real processes: npm run chaos -- --help.
import { cpSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { toMinify, writeMinified } from './minify.mjs';
import { buildOther, OtherBuildError } from './other-build.mjs';
import { scratchFolder } from './remove-with-process.mjs';

const root = path.join(import.meta.dirname, '..');
const scratch = path.join(root, '.tmp');
const folder = scratchFolder(scratch, 'chaos-build-');
const chaos = path.join(root, 'test/chaos');
const cluster = path.join(root, 'src/local/cluster');

const common = {
  absWorkingDir: root,
  outdir: folder,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  logLevel: 'warning',
  // The Functions host provides the first; the storage SDK never needs the second here.
  // The files of the dashboard exist only in a build.
  external: ['@azure/functions-core', 'apache-arrow', 'azurite', '*/dashboard/files.js', 'pg-native', 'pg-cloudflare'],
};
try {
  await build({
    ...common,
    // Each process finds the files of the others in its own folder.
    entryPoints: {
      main: path.join(chaos, 'main.ts'),
      'shift-clock': path.join(chaos, 'app/shift-clock.ts'),
      ...Object.fromEntries(
        ['host-process', 'guard-process', 'azurite-process'].map((name) => [name, path.join(cluster, `${name}.ts`)]),
      ),
    },
  });
  writeMinified(await build({ ...common, ...toMinify, entryPoints: { app: path.join(chaos, 'app/app.ts') } }));
  cpSync(path.join(root, 'host.json'), path.join(folder, 'host.json'));
  const args = process.argv.slice(2);
  const { values } = parseArgs({ args, options: { with: { type: 'string' } }, strict: false });
  if (typeof values.with === 'string') await buildOther(root, values.with, folder, common);
  const { main } = createRequire(import.meta.url)(path.join(folder, 'main.js'));
  process.exitCode = await main(args, scratch);
} catch (error) {
  if (!(error instanceof OtherBuildError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}
