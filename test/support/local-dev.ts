import fs from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type DevRun, endAll, type Ready, startDev } from './dev-run';
import { buildLocal, copyApp } from './local-build';

/** So that no storage emulator is started; these apps never ask for it. */
export const NO_STORAGE = { storage: 'UseDevelopmentStorage=true' };
/** The timer of an app never fires. */
export const QUIET = { TICK_SCHEDULE: '0 0 0 1 1 *' };

/** Builds the local cluster for the tests of a file, ends what each starts, and removes the apps after the last. */
export function localClusters() {
  let main: string;
  const folders: string[] = [];

  beforeAll(() => {
    main = buildLocal();
    folders.push(path.dirname(main));
  });
  afterEach(endAll);
  afterAll(() => {
    for (const folder of folders) fs.rmSync(folder, { recursive: true });
  });

  return {
    main: (): string => main,
    /** Removes this folder too, after the last test. */
    removeLater: (folder: string): void => void folders.push(folder),
    appOf(...args: Parameters<typeof copyApp>): string {
      const folder = copyApp(...args);
      folders.push(folder);
      return folder;
    },
    start: (options: Parameters<typeof startDev>[1], env?: Parameters<typeof startDev>[2]): DevRun =>
      startDev(main, options, env),
  };
}

export async function fetchFrom({ instances }: Ready, url: string, init?: RequestInit): Promise<Response> {
  return fetch(`http://127.0.0.1:${instances[0]?.port}${url}`, init);
}

/** Starts an orchestration on the first instance. */
export async function run(ready: Ready, body: object): Promise<Response> {
  return fetchFrom(ready, '/api/start', { method: 'POST', body: JSON.stringify(body) });
}
