import { buildSync, type Metafile } from 'esbuild';
import { execFile } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { scratchFolder } from '../support/scratch';

const root = path.join(__dirname, '../..');
/**
 * How much more CPU time a new instance takes than an empty process, until its functions are registered. On a quiet
 * machine it is 7 to 11, some 300 ms.
 */
const MOST_TIMES = 25;

/** What `test/support/start-process.cjs` prints. */
interface Loaded {
  readonly cpuMs: number;
  readonly functions: readonly string[];
}

/** The sources that are loaded with the app, without those that it imports when it needs them. */
function loadedWith(entry: string, { inputs }: Metafile): readonly string[] {
  const found = new Set<string>();
  const todo = [entry];
  for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    for (const { path: next, kind } of inputs[file]?.imports ?? []) {
      if (kind !== 'dynamic-import' && inputs[next] !== undefined) todo.push(next);
    }
  }
  return [...found].filter((file) => file.startsWith('src/'));
}

describe('the app that is deployed', () => {
  it('is registered with little more CPU time than an empty process takes', async () => {
    const folder = scratchFolder('app-load');
    copyFileSync(path.join(root, 'dist/app.js'), path.join(folder, 'app.js'));
    for (const file of ['host.json', 'jobs.json']) copyFileSync(path.join(root, file), path.join(folder, file));
    const env = { PATH: process.env['PATH'], CRONLEASE_STORAGE: 'UseDevelopmentStorage=true' };
    const run = async (...app: readonly string[]): Promise<Loaded> => {
      const program = path.join(root, 'test/support/start-process.cjs');
      const { stdout } = await promisify(execFile)(process.execPath, [program, ...app], { cwd: folder, env });
      return JSON.parse(stdout) as Loaded;
    };
    const apps: number[] = [];
    const empties: number[] = [];
    // By turns, because on a busy machine the same work takes more CPU time: other programs empty the caches.
    for (let count = 0; count < 4; count += 1) {
      empties.push((await run()).cpuMs);
      const { cpuMs, functions } = await run('app.js');
      expect(functions).toContain('cronleaseTick');
      apps.push(cpuMs);
    }
    const times = Math.min(...apps) / Math.min(...empties);
    console.log(
      `the app is registered after ${Math.min(...apps).toFixed(0)} ms of CPU time, ${times.toFixed(1)} times an empty process`,
    );
    expect(times).toBeLessThan(MOST_TIMES);
  });

  it('loads the HTTP API and the dashboard with the first request, since most instances never get one', () => {
    const { metafile } = buildSync({
      ...{ absWorkingDir: root, entryPoints: ['src/app.ts'], bundle: true, write: false, metafile: true },
      ...{ platform: 'node', format: 'cjs', outdir: 'unused', logLevel: 'warning' },
      external: ['@azure/functions-core', 'apache-arrow', '*/dashboard/files.js'],
    });
    const loaded = loadedWith('src/app.ts', metafile);
    expect(loaded).toContain('src/coordinator/tick/tick.ts');
    expect(metafile.inputs).toHaveProperty(['src/manage/schema.ts']);
    const late = /^src\/(operator|dashboard|call\/|manage\/(schema|serve|route|\w+-routes|show|change|problem))/;
    expect(loaded.filter((file) => late.test(file))).toEqual([]);
  });
});
