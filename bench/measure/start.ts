import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { median } from '../report/numbers';

/** What `test/support/start-process.cjs` prints. */
interface Started {
  readonly functions: readonly string[];
  /** From the start of the process until the app's functions are registered. */
  readonly ms: number;
  readonly cpuMs: number;
  /** The files of the app, its packages included. */
  readonly files: number;
  readonly bytes: number;
  readonly residentBytes: number;
  /** Time in ms by package, without that of the packages that it requires. Unless asked for, all of it is the app's. */
  readonly packages: Readonly<Record<string, number>>;
}

/** Medians of the starts of an app. */
export type AppStart = Pick<Started, 'ms' | 'cpuMs' | 'files' | 'bytes' | 'residentBytes'> & { readonly title: string };

/** The starts of an app in its forms, and what each package takes of one that is not bundled. */
export interface Starts {
  readonly turns: number;
  readonly apps: readonly AppStart[];
  /** The longest first. */
  readonly packages: readonly { readonly name: string; readonly ms: number }[];
}

interface Subject {
  readonly title: string;
  /** In the project's folder; undefined: the process loads nothing. */
  readonly file: string | undefined;
  readonly cached?: boolean;
}

const UNBUNDLED: Subject = { title: 'the library and its packages, not bundled', file: 'dist/lib/app.js' };

const SUBJECTS: readonly Subject[] = [
  { title: 'a process that loads nothing', file: undefined },
  { title: 'the app, as it is deployed', file: 'dist/app.js' },
  { title: 'the same with a filled `NODE_COMPILE_CACHE`', file: 'dist/app.js', cached: true },
  UNBUNDLED,
];

const TURNS = 15;

const run = promisify(execFile);

/**
 * Starts each app many times, by turns.
 *
 * @param root - the project's folder
 * @param scratch - a folder for this measurement
 */
export async function measureStarts(root: string, scratch: string, signal: AbortSignal): Promise<Starts> {
  // Both forms are of the commit that the page names.
  await run(process.execPath, [path.join(root, 'scripts/build.mjs')], { signal });
  const cwd = path.join(scratch, 'start');
  mkdirSync(cwd, { recursive: true });
  for (const name of ['host.json', 'jobs.json']) copyFileSync(path.join(root, name), path.join(cwd, name));

  const start = async ({ file, cached = false }: Subject, ...flags: readonly string[]): Promise<Started> => {
    const program = path.join(root, 'test/support/start-process.cjs');
    const args = [program, ...flags, ...(file === undefined ? [] : [path.join(root, file)])];
    const cache = cached ? { NODE_COMPILE_CACHE: path.join(cwd, 'compiled') } : {};
    const env = { PATH: process.env['PATH'], CRONLEASE_STORAGE: 'UseDevelopmentStorage=true', ...cache };
    const { stdout } = await run(process.execPath, args, { cwd, env, signal });
    const started = JSON.parse(stdout) as Started;
    if (started.functions.includes('cronleaseTick') !== (file !== undefined)) {
      throw new Error(`${file ?? 'a process that loads nothing'} registered: ${started.functions.join(', ')}`);
    }
    return started;
  };

  const all = SUBJECTS.map((subject) => ({ subject, starts: [] as Started[] }));
  // Reads the files from the disk, and fills the cache.
  for (const { subject } of all) await start(subject);
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const { subject, starts } of all) starts.push(await start(subject));
  }
  const imports: Started[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) imports.push(await start(UNBUNDLED, '--by-package'));
  return {
    turns: TURNS,
    apps: all.map(({ subject: { title }, starts }) => ({ title, ...medians(starts) })),
    packages: packageMedians(imports.map(({ packages }) => packages)),
  };
}

function medians(starts: readonly Started[]): Omit<AppStart, 'title'> {
  const middle = (of: (one: Started) => number): number => median(starts.map(of));
  return {
    ...{ ms: middle(({ ms }) => ms), cpuMs: middle(({ cpuMs }) => cpuMs), files: middle(({ files }) => files) },
    ...{ bytes: middle(({ bytes }) => bytes), residentBytes: middle(({ residentBytes }) => residentBytes) },
  };
}

export function packageMedians(starts: readonly Started['packages'][]): Starts['packages'] {
  const names = [...new Set(starts.flatMap((packages) => Object.keys(packages)))];
  return names
    .map((name) => ({ name, ms: median(starts.map((packages) => packages[name] ?? 0)) }))
    .toSorted((a, b) => b.ms - a.ms);
}
