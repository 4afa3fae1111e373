import { exec } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { collectFiles } from './watch-files';

// A build writes declarations, which would start the next one.
const SOURCE = /(?<!\.d)\.[cm]?[jt]sx?$/;
const TYPESCRIPT = /(?<!\.d)\.[cm]?tsx?$/;

/**
 * The sources of an app: the code below `src`, and TypeScript in its other folders, where JavaScript is what a build
 * wrote. An app without `src` may have all of its code anywhere.
 */
export function sourceFiles(app: string): readonly string[] {
  const src = path.join(app, 'src');
  if (!fs.existsSync(src)) return collectFiles(app, SOURCE);
  return [...new Set([...collectFiles(src, SOURCE), ...collectFiles(app, TYPESCRIPT)])];
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
