import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { describe } from 'vitest';
import { findProgram } from '../../src/local/servers/server';

/** What tests need beside Node and npm, and how it comes onto a machine. */
const INSTALLED_BY = {
  chromium: 'apt-get install chromium, or set CHROMIUM to the file to run',
  'redis-server': 'apt-get install redis-server',
  etcd: 'apt-get install etcd-server',
  java: 'apt-get install zookeeper default-jre-headless',
  postgres: 'apt-get install postgresql',
  consul: 'install it from its maker, or set CONSUL_HTTP_ADDR to an agent that runs',
  bicep: 'https://learn.microsoft.com/azure/azure-resource-manager/bicep/install',
} as const;

type Needed = keyof typeof INSTALLED_BY;

/** Neither npm nor Debian has a package of it, so that `.ci/run` cannot install it. */
const NOWHERE: readonly Needed[] = ['consul', 'bicep'];

/** The path of a program that tests need; undefined: it is not installed. */
export function pathOf(needed: Needed): string | undefined {
  if (needed === 'chromium') return process.env['CHROMIUM'] ?? findProgram('chromium');
  if (needed === 'redis-server') return findProgram('redis-server') ?? findProgram('valkey-server');
  return findProgram(needed);
}

/**
 * Whether tests can have a program. If they cannot, the end of the run says so in one line: see `scratch-setup.mjs`.
 *
 * @param what does not run without it
 * @throws in a CI run, which installs all that can be installed, unless `ABSENT=skip` says that it does without
 */
export function has(needed: Needed, what: string): boolean {
  if (pathOf(needed) !== undefined) return true;
  const remedy = INSTALLED_BY[needed];
  const mayLack = process.env['CI'] === undefined || process.env['ABSENT'] === 'skip' || NOWHERE.includes(needed);
  if (!mayLack) throw new Error(`${needed} is missing: ${remedy}`);
  appendFileSync(
    path.join(process.env['SCRATCH'] ?? '', 'absent.jsonl'),
    `${JSON.stringify({ needed, what, remedy })}\n`,
  );
  return false;
}

/** `describe` for tests that need a program: they are skipped where it is absent. */
export function describeWith(needed: Needed, what: string): typeof describe | typeof describe.skip {
  return has(needed, what) ? describe : describe.skip;
}
