// Writes dist/ in two forms: the deployed app as one file, and the library with its types. With --quick, as `npm start`
// runs it, the library has no types, nothing is checked and no bundle is shortened: a tenth of the time. Then `library`
// or `app` writes one of the two, so that the app is built while the library starts the emulator.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { build } from 'esbuild';
import { buildDashboard, moduleOf } from './dashboard.mjs';
import { toMinify, writeMinified } from './minify.mjs';
import { scratchFolder } from './remove-with-process.mjs';

const root = path.join(import.meta.dirname, '..');
const typescript = path.join(
  path.dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin',
  'tsc',
);

// A build that fails leaves the last one in place, and two builds at once do not meet.
const fresh = scratchFolder(path.join(root, '.tmp'), 'dist-');
const isQuick = process.argv.includes('--quick');
const has = (part) => process.argv.includes(part) || !['library', 'app'].some((one) => process.argv.includes(one));
const startedAt = performance.now();

async function buildLibrary() {
  if (isQuick) {
    await build({
      absWorkingDir: root,
      entryPoints: globSync('src/**/*.ts', { cwd: root, exclude: ['src/dashboard/**'] }),
      outbase: 'src',
      outdir: path.join(fresh, 'lib'),
      ...{ platform: 'node', target: 'node22', format: 'cjs', sourcemap: true, logLevel: 'warning' },
    });
  } else {
    const args = [typescript, '-p', path.join(root, 'tsconfig.build.json'), '--outDir', path.join(fresh, 'lib')];
    execFileSync(process.execPath, args, { stdio: 'inherit' });
  }
  // For pages and ES modules, in one file that needs nothing else.
  await build({
    absWorkingDir: root,
    entryPoints: ['src/client/index.ts'],
    outfile: path.join(fresh, 'lib/client/index.mjs'),
    bundle: true,
    platform: 'neutral',
    target: 'es2022',
    format: 'esm',
    logLevel: 'warning',
  });
  // Its types, for ES modules: those of CommonJS beside it.
  if (!isQuick) writeFileSync(path.join(fresh, 'lib/client/index.d.mts'), "export * from './index.js';\n");
  // npm makes a bin executable only when it links it, and not at every build.
  chmodSync(path.join(fresh, 'lib/cli/main.js'), 0o755);
}

const dashboard = path.join(fresh, 'lib/dashboard/files.js');
/** Marks a module as its own file, beside the one that loads it. */
const apart = (filter, file) => ({
  name: file,
  setup: ({ onResolve }) => onResolve({ filter }, () => ({ path: file, external: true })),
});
const forNode = {
  ...toMinify,
  absWorkingDir: root,
  platform: 'node',
  target: 'node22',
  format: 'cjs',
  logLevel: 'warning',
};
// What exports metrics and traces is its own file, which an app without them never reads.
const telemetry = {
  ...forNode,
  entryPoints: ['src/telemetry/opentelemetry.ts'],
  outfile: path.join(fresh, 'telemetry.js'),
  // As ES modules, the packages leave out what is not used: half of their size.
  mainFields: ['module', 'main'],
};
// So is each store beside blobs, with its client.
const stores = ['postgres', 'redis', 'zookeeper', 'etcd', 'consul'].map((store) => ({
  ...forNode,
  entryPoints: [`src/stores/${store}/store.ts`],
  outfile: path.join(fresh, `${store}.js`),
  // Bindings that have to be compiled, and a socket of another platform: pg uses neither unless they are asked for.
  external: ['pg-native', 'pg-cloudflare'],
}));
const forHost = {
  ...forNode,
  sourcemap: true,
  sourcesContent: false,
  // The Functions host provides the first. The storage SDK needs the second for a listing format that we never use.
  external: ['@azure/functions-core', 'apache-arrow'],
  plugins: [
    {
      name: 'dashboard',
      setup: ({ onResolve }) => onResolve({ filter: /\/dashboard\/files\.js$/ }, () => ({ path: dashboard })),
    },
    apart(/^\.\/opentelemetry\.js$/, './telemetry.js'),
    apart(/^\.\/postgres\/store\.js$/, './postgres.js'),
    apart(/^\.\/redis\/store\.js$/, './redis.js'),
    apart(/^\.\/zookeeper\/store\.js$/, './zookeeper.js'),
    apart(/^\.\/etcd\/store\.js$/, './etcd.js'),
    apart(/^\.\/consul\/store\.js$/, './consul.js'),
  ],
};
const app = { ...forHost, entryPoints: ['src/app.ts'], outfile: path.join(fresh, 'app.js') };
// What `npm start` runs, and no package has.
const samples = { ...forHost, entryPoints: ['samples/app.ts'], outfile: path.join(fresh, 'samples.js') };
const bundle = async (options) => {
  if (isQuick) await build({ ...options, minifySyntax: false, write: true, legalComments: 'none' });
  else writeMinified(await build(options));
};

async function buildApp() {
  mkdirSync(path.dirname(dashboard), { recursive: true });
  writeFileSync(dashboard, moduleOf(await buildDashboard()));
  await Promise.all([telemetry, ...stores, app, samples].map(bundle));
}

if (has('library')) {
  if (isQuick) console.log('Building cronlease…');
  await buildLibrary();
}
if (has('app')) await buildApp();

// The maps were written one folder deeper than their final place, so stack traces would name files that do not exist.
for (const file of readdirSync(fresh, { recursive: true, encoding: 'utf8' })) {
  if (!file.endsWith('.map')) continue;
  const map = JSON.parse(readFileSync(path.join(fresh, file), 'utf8'));
  const sources = map.sources.map((source) => source.replace(/^\.\.\//, ''));
  writeFileSync(path.join(fresh, file), JSON.stringify({ ...map, sources }));
}

const dist = path.join(root, 'dist');
if (has('library')) {
  // A temporary folder is only for its owner.
  chmodSync(fresh, 0o755);
  rmSync(dist, { recursive: true, force: true });
  renameSync(fresh, dist);
} else {
  cpSync(fresh, dist, { recursive: true });
}
if (isQuick) console.log(`Built in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s.`);
