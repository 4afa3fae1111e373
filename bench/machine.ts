import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { backends } from './backends/index';
import { findProgram } from '../src/local/servers/server';

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
  /** Of the servers and the packages that are measured. */
  readonly versions: readonly string[];
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
    versions: [...packageVersions(root), ...serverVersions()],
  };
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly dependencies?: object }>>;
}

/** The peers, and the packages of the project that cost most here. */
function packageVersions(root: string): string[] {
  const read = (file: string): Lock => JSON.parse(readFileSync(path.join(root, file), 'utf8')) as Lock;
  const own = read('package-lock.json');
  const peers = read('bench/package-lock.json');
  const versionsIn = ({ packages }: Lock, names: readonly string[]): string[] =>
    names.map((name) => `${name} ${packages[`node_modules/${name}`]?.version ?? 'unknown'}`);
  return [
    ...versionsIn(own, ['@azure/storage-blob', 'azurite', 'durable-functions']),
    ...versionsIn(peers, Object.keys(peers.packages['']?.dependencies ?? {})),
  ];
}

function serverVersions(): string[] {
  return Object.values(backends).flatMap(({ program }) => {
    const found = program === undefined ? undefined : findProgram(program.name);
    return found === undefined ? [] : [execFileSync(found, ['--version'], { encoding: 'utf8' }).split('\n')[0] ?? ''];
  });
}
