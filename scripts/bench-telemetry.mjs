// Measures what metrics and traces cost: npm run bench:telemetry -- --help. It needs the output of "npm run build".
import path from 'node:path';
import { runBench } from './run-bench.mjs';

process.exitCode = await runBench('telemetry', { main: path.join(import.meta.dirname, '../bench/telemetry/main.ts') });
