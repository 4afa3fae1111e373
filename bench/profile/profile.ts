import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Result } from '../measure/result';
import { runOnce } from '../measure/run';
import type { Options } from '../options';
import { perRun, share } from '../report/numbers';
import type { Table } from '../kept';
import { loadTitle } from '../report/tables';
import type { Room } from '../sitting';
import { type Bundles, type CpuProfile, cpuByPart, modulesOf } from './cpu-profile';

/** Files of this build whose modules the profile tells apart. */
const BUNDLED = ['app.js', 'host-process.js'];

/** Runs cronlease at one load with a CPU profile of its first worker, and keeps the profile in a folder. */
export async function profileOnce(options: Options, room: Room, folder: string): Promise<Result> {
  const { systems, loads, seconds } = options;
  const system = systems.find(({ own }) => own === true);
  const [load] = loads;
  if (system === undefined || load === undefined) throw new Error('--profile needs a system of cronlease and a load');
  mkdirSync(folder, { recursive: true });
  return runOnce({ ...room, system, load, seconds, repetition: 1, skewMs: 0, profileInto: folder });
}

/** The CPU of a run by part: the shares of the profile, of the CPU that all workers have used in the same stretch. */
export function profileTable(folder: string, { system, load, usage, runs }: Result): Table {
  const file = readdirSync(folder).find((name) => name.endsWith('.cpuprofile'));
  if (file === undefined)
    throw new Error(`There is no profile in ${folder}: the worker was ended before it wrote one.`);
  const profile = JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as CpuProfile;
  const { fromUs, seconds, workersCpuMs } = usage;
  const parts = cpuByPart(profile, bundlesOf(profile), { fromUs, throughUs: fromUs + seconds * 1e6 });
  const all = [...parts.values()].reduce((sum, ms) => sum + ms, 0);
  return {
    title: `CPU of ${system} by part, ${loadTitle(load)}`,
    header: ['part', 'share', 'ms a run'],
    rows: [
      ...[...parts].map(([part, ms]) => [part, share(ms / all), perRun((ms / all) * workersCpuMs, runs)]),
      ['all', share(1), perRun(workersCpuMs, runs)],
    ],
  };
}

/** The app's bundle is copied into each run's folder, so bundles are found by their names. */
function bundlesOf({ nodes }: CpuProfile): Bundles {
  const files = new Set(nodes.map(({ callFrame }) => callFrame.url.replace(/^file:\/\//, '')));
  return new Map(
    [...files]
      .filter((file) => BUNDLED.includes(path.basename(file)) && !file.includes('node_modules'))
      .map((file) => [file, modulesOf(readFileSync(path.join(__dirname, path.basename(file)), 'utf8'))]),
  );
}
