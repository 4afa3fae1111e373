import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = path.join(__dirname, '../..');
const { bin } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { bin: { cronlease: string } };

function run(folder: string): { status: number | null; stderr: string; stdout: string } {
  return spawnSync(process.execPath, [path.join(folder, bin.cronlease), 'status'], { encoding: 'utf8' });
}

describe('the command', () => {
  it('is there before the first build, and asks for it', () => {
    const clone = mkdtempSync(path.join(tmpdir(), 'cronlease-bin-'));
    mkdirSync(path.dirname(path.join(clone, bin.cronlease)));
    copyFileSync(path.join(ROOT, bin.cronlease), path.join(clone, bin.cronlease));
    const before = run(clone);
    expect(before).toMatchObject({ status: 1, stdout: '' });
    expect(before.stderr).toContain('npm run build');

    const main = path.join(clone, 'dist/lib/cli/main.js');
    mkdirSync(path.dirname(main), { recursive: true });
    writeFileSync(main, 'console.log(process.argv.slice(2).join(" "))');
    expect(run(clone)).toMatchObject({ status: 0, stdout: 'status\n' });
  });
});
