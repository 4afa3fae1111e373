import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { buildSync } from 'esbuild';

const root = path.join(__dirname, '../..');

/** How a command ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Cli {
  /** Runs `cronlease` with these arguments as a process of its own. */
  run(args: readonly string[], options?: { cwd?: string; env?: NodeJS.ProcessEnv }): Promise<Ended>;
  remove(): void;
}

/** Compiles the command line from its sources, one file each as `npm run build` does, into a folder of its own. */
export function buildCli(): Cli {
  fs.mkdirSync(path.join(root, '.tmp'), { recursive: true });
  const folder = fs.mkdtempSync(path.join(root, '.tmp/cli-'));
  const sources = fs
    .readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => path.join(root, 'src', file));
  buildSync({ entryPoints: sources, outdir: folder, platform: 'node', format: 'cjs', logLevel: 'warning' });
  const main = path.join(folder, 'cli/main.js');
  const clean = Object.entries(process.env).filter(([name]) => !/^(CRONLEASE_|FORCE_COLOR|NODE_OPTIONS)/.test(name));
  return {
    run: (args, { cwd = folder, env = {} } = {}) =>
      new Promise((resolve) => {
        const options = { cwd, env: { ...Object.fromEntries(clean), ...env } };
        const child = execFile(process.execPath, [main, ...args], options, (_error, stdout, stderr) => {
          resolve({ code: child.exitCode ?? -1, stdout, stderr });
        });
      }),
    remove: () => {
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}
