import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = path.join(__dirname, '../..');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'cronlease-release-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Checked {
  readonly code: number | null;
  readonly notes: string;
  readonly errors: string;
}

function check(tag: string, changelog: string, version = '1.2.0'): Checked {
  const file = (name: string): string => path.join(folder, name);
  writeFileSync(file('package.json'), JSON.stringify({ version }));
  writeFileSync(file('CHANGELOG.md'), changelog);
  const options = ['--tag', tag, '--package', file('package.json'), '--changelog', file('CHANGELOG.md')];
  const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(root, 'scripts/release.mjs'), ...options], {
    encoding: 'utf8',
  });
  return { code: status, notes: stdout, errors: stderr };
}

const OLDER = '\n## [1.1.0] - 2026-01-01\n\n### Fixed\n\n- Something older.\n';
const GOOD = `# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-11-22\n\n### Added\n\n- A door.\n${OLDER}`;

describe('scripts/release.mjs', () => {
  it('prints the section of the version, and no other', () => {
    expect(check('v1.2.0', GOOD)).toEqual({ code: 0, notes: '### Added\n\n- A door.\n', errors: '' });
  });

  it.each([
    ['v1.3.0', GOOD, 'tag v1.2.0, or change the version'],
    ['1.2.0', GOOD, 'tag v1.2.0, or change the version'],
    ['v1.2.0', `# Changelog\n${OLDER}`, 'no section for 1.2.0'],
    ['v1.2.0', GOOD.replace(' - 2026-11-22', ''), '[1.2.0] has no date'],
    ['v1.2.0', GOOD.replace('### Added\n\n- A door.\n', ''), '[1.2.0] is empty'],
    ['v1.2.0', GOOD.replace('[Unreleased]\n', '[Unreleased]\n\n- A window.\n'), 'move its text to [1.2.0]'],
  ])('refuses %s where something is wrong: %#', (tag, changelog, error) => {
    const { code, notes, errors } = check(tag, changelog);
    expect({ code, notes }).toEqual({ code: 1, notes: '' });
    expect(errors).toContain(error);
  });

  it('would take the changelog of this repository with its section renamed', () => {
    const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };
    const changelog = readFileSync(path.join(root, 'CHANGELOG.md'), 'utf8');
    const dated = changelog.replace('## [Unreleased]', `## [${version}] - 2026-12-01`);
    const { code, notes } = check(`v${version}`, dated, version);
    expect(code).toBe(0);
    expect(notes).toContain('### Added');
  });
});
