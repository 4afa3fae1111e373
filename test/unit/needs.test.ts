import { mkdtempSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { has } from '../support/needs';

afterEach(() => void vi.unstubAllEnvs());

/** A machine without any program. */
function bare(env: Readonly<Record<string, string | undefined>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'bare-'));
  vi.stubEnv('PATH', folder);
  vi.stubEnv('CHROMIUM', undefined);
  vi.stubEnv('SCRATCH', folder);
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  return path.join(folder, 'absent.jsonl');
}

describe('a program that tests need', () => {
  it('is noted with its remedy where it is missing, so that its tests are skipped', () => {
    const notes = bare({ CI: undefined });
    expect(has('etcd', 'this')).toBe(false);
    expect(readFileSync(notes, 'utf8')).toBe(
      '{"needed":"etcd","what":"this","remedy":"apt-get install etcd-server"}\n',
    );
  });

  it('fails a CI run, unless that does without on purpose', () => {
    bare({ CI: '1', ABSENT: undefined });
    expect(() => has('etcd', 'this')).toThrow('etcd is missing: apt-get install etcd-server');
    vi.stubEnv('ABSENT', 'skip');
    expect(has('etcd', 'this')).toBe(false);
  });
});
