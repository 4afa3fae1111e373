// Measures how the cost of jobs grows with their number: npm run bench:scale -- --help.
import { createRequire } from 'node:module';
import path from 'node:path';
import { build } from 'esbuild';
import { scratchFolder } from './remove-with-process.mjs';

const root = path.join(import.meta.dirname, '..');
const scale = path.join(root, 'bench/scale');
// Inside bench, where programs find the project's packages.
const folder = scratchFolder(path.join(root, 'bench/.tmp'), 'scale-');

await build({
  absWorkingDir: root,
  outdir: folder,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  logLevel: 'warning',
  packages: 'external',
  entryPoints: {
    main: path.join(scale, 'main.ts'),
    'case-process': path.join(scale, 'case-process.ts'),
    'instance-process': path.join(scale, 'instance-process.ts'),
    'count-calls': path.join(root, 'bench/backends/count-calls.ts'),
    'azurite-process': path.join(root, 'src/local/cluster/azurite-process.ts'),
    'guard-process': path.join(root, 'src/local/cluster/guard-process.ts'),
  },
});
const { main } = createRequire(import.meta.url)(path.join(folder, 'main.js'));
process.exitCode = await main(process.argv.slice(2), root);
