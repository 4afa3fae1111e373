import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliFolder, cliFolder } from '../support/cli-build';

const JOBS = {
  'nightly-report': { schedule: '@daily', tags: ['billing', 'reports'] },
  'nightly-import': { schedule: '@daily', tags: ['imports'] },
  hourly: { schedule: '@hourly' },
};

let folder: CliFolder;
beforeAll(() => {
  folder = cliFolder();
  folder.write('jobs.json', { jobs: JOBS });
  folder.write('other.json', { jobs: { elsewhere: { schedule: '@daily' } } });
  folder.write('cronlease', '#!/bin/sh\nexec "$NODE" "$CLI" "$@"\n');
  fs.chmodSync(path.join(folder.path, 'cronlease'), 0o755);
});
afterAll(() => folder.remove());

/** No storage is named, so that a call to it would fail. */
async function suggested(...words: readonly string[]): Promise<readonly string[]> {
  const { code, stdout, stderr } = await folder.run(['__complete', '--', ...words]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.split('\n').filter(Boolean);
}

const isInstalled = (shell: string): boolean => {
  try {
    execFileSync(shell, ['-c', 'true']);
    return true;
  } catch {
    return false;
  }
};

describe('the suggestions of completion', () => {
  it.each<[readonly string[], readonly string[]]>([
    [['ru'], ['run', 'runs']],
    [
      ['run', ''],
      ['hourly', 'nightly-import', 'nightly-report'],
    ],
    [['pause', 'nightly-report', 'nightly-i'], ['nightly-import']],
    [['run', 'hourly', 'n'], []],
    [
      ['runs', '--tag', ''],
      ['billing', 'imports', 'reports'],
    ],
    [['runs', '--limit', ''], []],
    [['runs', '--limit', '3', 'h'], ['hourly']],
    [['runs', '--failed', '--f'], ['--file']],
    [['runs', '--outcome', 'timed'], ['timedOut']],
    [['run', '--file', 'other.json', ''], ['elsewhere']],
    [
      ['completion', ''],
      ['bash', 'fish', 'zsh'],
    ],
    [
      ['help', 'un'],
      ['unack', 'uncordon', 'unlock'],
    ],
    [['cordon', ''], []],
    [['nonsense', ''], []],
    [['--v'], ['--version']],
  ])('for %j are %j', async (words, expected) => {
    expect(await suggested(...words)).toEqual(expected);
  });

  it('are empty, without a message, where the jobs file is missing or wrong', async () => {
    folder.write('wrong.json', '{');
    expect(await suggested('run', '--file', 'wrong.json', '')).toEqual([]);
    expect(await suggested('run', '--file', 'none.json', '')).toEqual([]);
  });

  it('do not have the command that makes them', async () => {
    expect(await suggested('')).not.toContain('__complete');
    expect((await folder.run(['--help'])).stdout).not.toContain('__complete');
  });
});

describe('a completion script', () => {
  const inShell = (shell: string, script: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const [node, cli] = folder.command;
      const env = { ...process.env, NODE: node, CLI: cli, PATH: `${folder.path}:${process.env['PATH'] ?? ''}` };
      execFile(shell, ['-c', script], { cwd: folder.path, env }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(stderr, { cause: error }));
      });
    });

  it('completes in bash', async () => {
    const press = (line: string): string => `
      COMP_WORDS=(${line}); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); COMPREPLY=(); _cronlease
      echo "\${COMPREPLY[*]}"`;
    const printed = await inShell(
      'bash',
      `source <(cronlease completion bash); complete -p cronlease
       ${press('cronlease cor')} ${press("cronlease run 'night'")} ${press("cronlease runs --tag ''")}
       ${press('cronlease validate --file oth')} ${press('cronlease import cro')}
       ${press('cronlease import crontab oth')} ${press('cronlease import crontab --fo')}
       ${press('cronlease init oth')} ${press('cronlease ini')}`,
    );
    expect(printed.split('\n').slice(1, -1)).toEqual([
      'cordon',
      'nightly-import nightly-report',
      'billing imports reports',
      'other.json',
      'crontab',
      'other.json',
      '--force',
      'other.json',
      'init',
    ]);
    expect(printed).toContain('-F _cronlease cronlease');
  });

  const zsh = isInstalled('zsh');
  it(zsh ? 'is accepted by zsh' : 'for zsh is printed (zsh is not installed here, so it was not run)', async () => {
    const { stdout } = await folder.run(['completion', 'zsh']);
    expect(stdout).toMatch(/^#compdef cronlease\n/);
    if (zsh) await inShell('zsh', 'autoload -U compinit && compinit -D && source <(cronlease completion zsh)');
  });

  const fish = isInstalled('fish');
  it(fish ? 'completes in fish' : 'for fish is printed (fish is not installed here, so it was not run)', async () => {
    const { stdout } = await folder.run(['completion', 'fish']);
    expect(stdout).toContain('complete -c cronlease -f');
    if (fish) {
      const printed = await inShell('fish', 'cronlease completion fish | source; complete -C "cronlease cord"');
      expect(printed).toContain('cordon');
    }
  });

  it('is only for these shells', async () => {
    const { code, stderr } = await folder.run(['completion', 'csh']);
    expect(code).toBe(2);
    expect(stderr).toContain('bash, zsh, fish');
  });
});
