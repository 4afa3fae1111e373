import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { loadFile, loadFileIfAny } from '../../src/cli/jobs-file';
import { run } from '../../src/cli/run/run';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'cronlease-no-jobs-'));
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

describe('a folder without a jobs file', () => {
  const missing = { code: 'NoJobsFile', message: expect.stringMatching(/no jobs\.json in .*--file/) as unknown };

  it('is answered by what to add to the command line', async () => {
    await expect(run('nightly', { storage: 'UseDevelopmentStorage=true' })).rejects.toMatchObject(missing);
    expect(() => loadFile({})).toThrow(expect.objectContaining(missing) as Error);
  });

  it('is no trouble for a command that needs none', () => {
    expect(loadFileIfAny({})).toBeUndefined();
  });

  it('leaves a file that was named to the error that names it', () => {
    const file = path.join(folder, 'other.json');
    for (const load of [loadFile, loadFileIfAny]) {
      expect(() => load({ file })).toThrow(expect.objectContaining({ code: 'InvalidJobs' }) as Error);
    }
  });
});
