// Measures how the cost of jobs grows with their number: npm run bench:scale -- --help.
import path from 'node:path';
import { runBench } from './run-bench.mjs';

const root = path.join(import.meta.dirname, '..');
const scale = path.join(root, 'bench/scale');

process.exitCode = await runBench('scale', {
  main: path.join(scale, 'main.ts'),
  'case-process': path.join(scale, 'case-process.ts'),
  'instance-process': path.join(scale, 'instance-process.ts'),
  'listing-server': path.join(scale, 'listing-server.ts'),
  'count-calls': path.join(root, 'bench/backends/count-calls.ts'),
  'azurite-process': path.join(root, 'src/local/cluster/azurite-process.ts'),
  'guard-process': path.join(root, 'src/local/cluster/guard-process.ts'),
});
