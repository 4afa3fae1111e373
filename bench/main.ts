import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startGuard } from '../src/local/cluster/guard';
import { describeMachine, type Machine } from './machine';
import type { Result } from './measure/result';
import { runOnce } from './measure/run';
import { type Options, readOptions, UsageError } from './options';
import { plannedName, planRuns } from './plan';
import { figuresLine } from './report/line';
import { plainTables } from './report/tables';

/** All that is kept of one sitting. */
export interface Sitting {
  readonly machine: Machine;
  readonly results: readonly Result[];
  readonly failures: readonly Failure[];
}

/** A run that could not be made. */
export interface Failure {
  readonly run: string;
  readonly reason: string;
}

/** @param root - the repository's folder */
export async function main(args: readonly string[], root: string): Promise<number> {
  let options: Options | string;
  try {
    options = readOptions(args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    return 2;
  }
  if (typeof options === 'string') {
    console.log(options);
    return 0;
  }
  const sitting = await sit(options, root);
  if (sitting === 'interrupted') return 130;
  const file = options.json ?? path.join(root, '.tmp/bench', `${sitting.machine.at.replaceAll(':', '-')}.json`);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(sitting, undefined, 1)}\n`);
  console.log(plainTables(sitting.results));
  console.error(`The results are in ${path.relative(process.cwd(), file)}.`);
  return sitting.failures.length === 0 ? 0 : 1;
}

/** Makes all runs, one after the other. */
async function sit(options: Options, root: string): Promise<Sitting | 'interrupted'> {
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort(new Error('interrupted'));
  process.once('SIGINT', interrupt);
  process.once('SIGTERM', interrupt);
  const parent = path.join(root, 'bench/.tmp');
  mkdirSync(parent, { recursive: true });
  const scratch = mkdtempSync(path.join(parent, 'runs-'));
  const guard = startGuard();
  guard.remove(scratch);
  const { seconds, bursts } = options;
  const { signal } = interrupted;
  const results: Result[] = [];
  const failures: Failure[] = [];
  try {
    const machine = describeMachine(root);
    const planned = planRuns(options);
    for (const [index, run] of planned.entries()) {
      signal.throwIfAborted();
      process.stderr.write(`${String(index + 1)}/${String(planned.length)} ${plannedName(run)} … `);
      try {
        const result = await runOnce({ ...run, seconds, bursts, scratch, guard, signal });
        console.error(figuresLine(result));
        results.push(result);
      } catch (error) {
        signal.throwIfAborted();
        // The other systems are measured all the same.
        const reason = error instanceof Error ? error.message : String(error);
        console.error(`failed: ${error instanceof Error ? (error.stack ?? reason) : reason}`);
        failures.push({ run: plannedName(run), reason });
      }
    }
    return { machine, results, failures };
  } catch (error) {
    if (!signal.aborted) throw error;
    return 'interrupted';
  } finally {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    await guard.end();
  }
}
