// Measures cronlease beside what people would use instead: npm run bench -- --help.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { build } from 'esbuild';
import { toMinify, writeMinified } from './minify.mjs';
import { scratchFolder } from './remove-with-process.mjs';

const root = path.join(import.meta.dirname, '..');
const bench = path.join(root, 'bench');
const systems = path.join(bench, 'systems');
const cluster = path.join(root, 'src/local/cluster');

/**
 * The peers' packages are not the project's: they are installed when they are needed, and again when they change.
 * Decision 125.
 */
function installPeers() {
  const lock = readFileSync(path.join(bench, 'package-lock.json'), 'utf8');
  const installed = path.join(bench, 'node_modules/.installed-lock.json');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === lock) return;
  console.error('Installing the peers into bench/node_modules …');
  execFileSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: bench, stdio: 'inherit' });
  writeFileSync(installed, lock);
}

installPeers();
// Inside bench, where programs find the peers' packages and the project's.
const folder = scratchFolder(path.join(bench, '.tmp'), 'build-');

const common = {
  absWorkingDir: root,
  outdir: folder,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  logLevel: 'warning',
};
const named = (parent, names) => Object.fromEntries(names.map((name) => [name, path.join(parent, `${name}.ts`)]));
await build({
  ...common,
  packages: 'external',
  // Each process finds the files of the others in its own folder.
  entryPoints: {
    main: path.join(bench, 'main.ts'),
    'count-calls': path.join(bench, 'backends/count-calls.ts'),
    'shift-clock': path.join(root, 'test/chaos/app/shift-clock.ts'),
    ...named(systems, ['croner-all', 'croner-dealt', 'naive-lease', 'blob-leader']),
    ...named(systems, ['redlock', 'bullmq', 'etcd-election', 'graphile']),
    ...named(cluster, ['host-process', 'guard-process', 'azurite-process']),
  },
});
const app = {
  ...common,
  entryPoints: { app: path.join(systems, 'cronlease/app.ts') },
  // As in a deployed app, the host provides the first. The files of the dashboard exist only in a build.
  external: ['@azure/functions-core', 'apache-arrow', '*/dashboard/files.js', 'pg-native', 'pg-cloudflare'],
};
// A profile tells modules apart by the comments before them.
if (process.argv.includes('--profile')) await build(app);
else writeMinified(await build({ ...app, ...toMinify }));
cpSync(path.join(root, 'host.json'), path.join(folder, 'host.json'));
const { main } = createRequire(import.meta.url)(path.join(folder, 'main.js'));
process.exitCode = await main(process.argv.slice(2), root);
// Pages of other subjects have figures of its results too.
if (process.exitCode === 0) {
  execFileSync(process.execPath, [path.join(root, 'scripts/generate-reference.mjs')], { cwd: root, stdio: 'inherit' });
}
