import { exec } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { collectFiles } from './watch-files';

const SOURCE = /\.[cm]?[jt]sx?$/;

/** The sources of an app: the code below `src`, or in its folder if it has none. */
export function sourceFiles(app: string): readonly string[] {
  const src = path.join(app, 'src');
  return collectFiles(fs.existsSync(src) ? src : app, SOURCE);
}

/** Runs a build command in the app's folder. Resolves to what it printed if it fails. */
export function runBuild(command: string, app: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    // A compiler's list of errors.
    exec(command, { cwd: app, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      resolve(error === null ? undefined : `${stdout}${stderr}`.trim() || error.message);
    });
  });
}
