import { buildSync } from 'esbuild';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { toMinify, writeMinified } from '../../scripts/minify.mjs';
import { scratchFolder } from './scratch';

const root = path.join(__dirname, '../..');

/** The note of one handler call. */
export interface Note {
  readonly what: string;
  readonly job: string;
  readonly scheduledFor: number;
  readonly attempt: number;
  readonly trigger: string;
  readonly token: number;
  readonly pid: number;
  readonly at: number;
  readonly traceparent?: string;
  /** Of an item. */
  readonly index?: number;
}

export interface CoordinatedApp {
  readonly folder: string;
  /** Variables for the environment of the cluster. */
  readonly env: Readonly<Record<string, string>>;
  notes(): Note[];
}

/**
 * A function app with the handlers of `app/coordinated` and these jobs, in its own folder.
 *
 * @param exports whether it can export metrics and traces
 * @param program `runner`: a program that needs no Functions host
 */
export function coordinatedApp(
  jobs: Readonly<Record<string, unknown>>,
  { exports = false, program = 'app' }: { readonly exports?: boolean; readonly program?: 'app' | 'runner' } = {},
): CoordinatedApp {
  const folder = scratchFolder('coordinated');
  cpSync(bundled(program, exports), path.join(folder, 'app.js'));
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ main: 'app.js' }));
  writeFileSync(path.join(folder, 'host.json'), readFileSync(path.join(root, 'host.json')));
  writeFileSync(path.join(folder, 'jobs.json'), JSON.stringify({ jobs }));
  const file = path.join(folder, 'notes.jsonl');
  return {
    folder,
    env: { NOTES: file },
    notes: () =>
      existsSync(file)
        ? readFileSync(file, 'utf8')
            .split('\n')
            .filter((line) => line !== '')
            .map((line) => JSON.parse(line) as Note)
        : [],
  };
}

const bundles = new Map<string, string>();

/** The app's bundle. Each is built once: building blocks this process, and the tests that run side by side with it. */
function bundled(program: 'app' | 'runner', exports: boolean): string {
  const key = `${program} ${String(exports)}`;
  const built = bundles.get(key);
  if (built !== undefined) return built;
  const outfile = path.join(scratchFolder('bundle'), 'app.js');
  const bundle = buildSync({
    ...toMinify,
    entryPoints: [path.join(root, `test/support/app/coordinated/${program}.ts`)],
    outfile,
    platform: 'node',
    format: 'cjs',
    // The files of the dashboard exist only in a build, and no test opens it here.
    external: [
      ...['@azure/functions-core', 'apache-arrow', '*/dashboard/files.js'],
      ...(exports ? [] : ['*/opentelemetry.js']),
    ],
    logLevel: 'warning',
  });
  writeMinified(bundle);
  bundles.set(key, outfile);
  return outfile;
}

/** `@at` some milliseconds from now, on a whole second. */
export function at(fromNow: number): string {
  const instant = Math.ceil((Date.now() + fromNow) / 1000) * 1000;
  return `@at ${new Date(instant).toISOString()}`;
}
