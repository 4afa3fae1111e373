import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { expect } from 'vitest';
import { scratchFolder } from './scratch';

const root = path.join(__dirname, '../..');

/** How a command ended. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs. */
export interface Started {
  readonly ended: Promise<Ended>;
  /** What it has printed so far. */
  stdout(): string;
  signal(name: NodeJS.Signals): void;
}

/** A command in a terminal. */
export interface InTerminal {
  /** All that the terminal was sent so far. */
  text(): string;
  type(keys: string): void;
  /** Its exit code. */
  readonly ended: Promise<number | null>;
}

/** A folder with a jobs file, to run `cronlease` in. */
export interface CliFolder {
  readonly path: string;
  /** Runs `cronlease` as its own process, here or in another folder. */
  run(args: readonly string[], env?: NodeJS.ProcessEnv, cwd?: string): Promise<Ended>;
  /** The program and its first parameter, for a test that starts it by other means. */
  readonly command: readonly [program: string, file: string];
  /** Runs `cronlease` in a terminal of 80 columns and 24 rows. */
  inTerminal(args: readonly string[], env?: NodeJS.ProcessEnv): InTerminal;
  /** As `run`, for a command that a test ends. */
  start(args: readonly string[], env?: NodeJS.ProcessEnv, cwd?: string): Started;
  /** Checks the exit code of a command, and returns the JSON document that it printed. */
  json<Value>(running: Promise<Ended>, code?: number): Promise<Value>;
  /** Writes a file: text as it is, anything else as JSON. */
  write(name: string, content: unknown): void;
  remove(): void;
}

/** None of these handlers exists: the command line does not need them. */
const JOBS = {
  minutely: { schedule: '* * * * *' },
  nightly: { schedule: '30 2 * * *', timeZone: 'Europe/Paris', dst: { gap: 'forward' }, overlap: 'queue' },
  seldom: { schedule: '@yearly', handler: 'no-such-handler', enabled: false },
  leader: { schedule: '@always' },
  asked: { schedule: '@manual' },
};

export function cliFolder(): CliFolder {
  const build = buildCli();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cronlease-cli-'));
  // Node takes a terminal to have no colours where CI is set.
  const clean = Object.entries(process.env).filter(
    ([name]) => !/^(CRONLEASE_|FORCE_COLOR|NODE_OPTIONS|CI$)/.test(name),
  );
  const write: CliFolder['write'] = (name, content) => {
    fs.writeFileSync(path.join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  };
  write('jobs.json', { revision: 1, jobs: JOBS });
  const file = path.join(build, 'cli/main.js');
  const start: CliFolder['start'] = (args, env = {}, cwd = folder) => {
    const { promise: ended, resolve } = Promise.withResolvers<Ended>();
    const options = { cwd, env: { ...Object.fromEntries(clean), ...env } };
    const child = execFile(process.execPath, [file, ...args], options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr });
    });
    let text = '';
    child.stdout?.on('data', (part: string) => (text += part));
    return { ended, stdout: () => text, signal: (name) => void child.kill(name) };
  };
  return {
    path: folder,
    command: [process.execPath, file],
    inTerminal(args, env = {}) {
      const line = [process.execPath, file, ...args].map((part) => `'${part}'`).join(' ');
      const child = spawn('script', ['-qefc', `stty cols 80 rows 24; ${line}`, '/dev/null'], {
        cwd: folder,
        env: { ...Object.fromEntries(clean), NO_COLOR: undefined, TERM: 'xterm-256color', ...env },
      });
      let text = '';
      child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
      return { text: () => text, type: (keys) => void child.stdin.write(keys), ended };
    },
    start,
    run: (args, env, cwd) => start(args, env, cwd).ended,
    async json<Value>(running: Promise<Ended>, code = 0) {
      const { code: actual, stdout, stderr } = await running;
      expect(actual, stderr).toBe(code);
      return JSON.parse(stdout) as Value;
    },
    write,
    remove() {
      fs.rmSync(build, { recursive: true, force: true });
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Compiles the command line from its sources, one file each as `npm run build` does, into its own folder. */
function buildCli(): string {
  const build = scratchFolder('cli');
  const sources = fs
    .readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .map((file) => path.join(root, 'src', file));
  buildSync({ entryPoints: sources, outdir: build, platform: 'node', format: 'cjs', logLevel: 'warning' });
  return build;
}
