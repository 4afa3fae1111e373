import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { type Sitting, joined } from './kept';
import { describeMachine } from './machine';
import { type Options, readOptions, UsageError } from './options';
import { readSitting, writeReport, writeResults } from './report/publish';
import { figuresLine } from './report/line';
import { plainTable, plainTables } from './report/tables';
import { profileOnce, profileTable } from './profile/profile';
import { inRoom, sit } from './sitting';

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
  if (options.render !== undefined) {
    await writeReport(readSitting(options.render), options.render);
    return 0;
  }
  return options.profile ? profile(options, root) : measure(options, root);
}

async function profile(options: Options, root: string): Promise<number> {
  const folder = path.resolve(root, '.tmp/bench/profile');
  rmSync(folder, { recursive: true, force: true });
  const result = await inRoom(root, (room) => profileOnce(options, room, folder));
  if (result === 'interrupted') return 130;
  const table = profileTable(folder, result);
  console.log(`${plainTable(table)}\n${figuresLine(result)}`);
  console.error(`The profile is in ${path.relative(process.cwd(), folder)}: Chromium's developer tools show it.`);
  if (options.add) {
    const nothing = {
      leftOut: [],
      results: [],
      kills: [],
      idles: [],
      starts: [],
      logs: [],
      shortages: [],
      failures: [],
    };
    await publish({ machine: describeMachine(root), ...nothing, profile: table }, options, root);
  }
  return 0;
}

/** @param kept where the results are already, if not in their own page */
async function publish(
  sitting: Sitting,
  { add, whole, out }: Options,
  root: string,
  kept = 'docs/evidence',
): Promise<void> {
  const folder = path.resolve(root, out ?? (add || whole ? 'docs/evidence' : kept));
  const all = add ? joined(readSitting(folder), sitting) : sitting;
  writeResults(all, folder);
  await writeReport(all, folder);
  console.error(`The page is ${path.relative(process.cwd(), path.join(folder, 'performance.md'))}.`);
}

async function measure(options: Options, root: string): Promise<number> {
  const machine = describeMachine(root);
  const kept = path.join('.tmp/bench', machine.at.replaceAll(':', '-'));
  // An interrupted sitting keeps what it has, and replaces nothing.
  const keep = (sitting: Sitting): void => writeResults(sitting, path.resolve(root, kept));
  const sitting = await inRoom(root, (room) => sit(options, room, machine, keep));
  if (sitting === 'interrupted') {
    console.error(
      existsSync(path.resolve(root, kept)) ? `Interrupted. The results so far are in ${kept}.` : 'Interrupted.',
    );
    return 130;
  }
  console.log(plainTables(sitting));
  await publish(sitting, options, root, kept);
  return sitting.failures.length === 0 ? 0 : 1;
}
