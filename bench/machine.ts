import { execFileSync } from 'node:child_process';
import os from 'node:os';

/** Where and on what a sitting was made. */
export interface Machine {
  /** ISO 8601. */
  readonly at: string;
  readonly commit: string;
  /** Whether files differed from the commit. */
  readonly changed: boolean;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
}

export function describeMachine(root: string): Machine {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const cpus = os.cpus();
  return {
    at: `${new Date().toISOString().slice(0, 19)}Z`,
    commit: git('rev-parse', '--short=10', 'HEAD'),
    changed: git('status', '--porcelain', '--', 'src', 'bench', 'host.json') !== '',
    cpu: cpus[0]?.model ?? 'unknown',
    cores: cpus.length,
    memoryGb: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.type()} ${os.release()}`,
    node: process.version,
  };
}
