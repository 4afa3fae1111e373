import { openSync, writeSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { trueNow } from '../test/chaos/time';

let file: number | undefined;

/**
 * The handler of every job in every system: it notes its start in a file that all workers append to, and waits. The
 * write is synchronous, so that it outlives `kill -9`.
 */
export async function handle(job: string, due: number, ms: number, attempt = 1): Promise<void> {
  const at = trueNow();
  file ??= openSync(process.env['BENCH_RECORDS'] ?? '', 'a');
  writeSync(file, `${job} ${String(due)} ${at.toFixed(1)} ${String(process.pid)} ${String(attempt)}\n`);
  await setTimeout(ms);
}
