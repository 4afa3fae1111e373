import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = path.join(__dirname, '../..');
const script = path.join(root, 'scripts/deploy.mjs');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'cronlease-parameters-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function check(file: string): { code: number | null; lines: string[] } {
  // Without az on the PATH: nothing is asked of Azure.
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--parameters', file], {
    encoding: 'utf8',
    env: { PATH: folder },
  });
  return { code: status, lines: `${stdout}${stderr}`.trim().split('\n') };
}

function checkText(text: string): string[] {
  const file = path.join(folder, 'x.bicepparam');
  writeFileSync(file, `using 'main.bicep'\n\n${text}\n`);
  const { code, lines } = check(file);
  expect(code).toBe(lines[0]?.endsWith('are valid') === true ? 0 : 1);
  return code === 0 ? [] : lines.map((line) => line.replace(`${file}: `, ''));
}

const NORTH = "param regions = ['northeurope']";

describe('deploy.mjs --parameters', () => {
  it('takes the files of infra', () => {
    const files = readdirSync(path.join(root, 'infra')).filter((file) => file.endsWith('.bicepparam'));
    expect(files.length).toBeGreaterThan(1);
    for (const file of files) expect(check(path.join(root, 'infra', file))).toMatchObject({ code: 0 });
  });

  it.each<[string, RegExp[]]>([
    ["param name = 'My-App'", [/^name is "My-App": 3 to 9 lowercase letters and digits, beginning with a letter$/]],
    ["param name = '1st'", [/^name is "1st"/]],
    ["param name = 'longernamed'", [/^name is "longernamed"/]],
    ["param name = 'ours' // not 'My-App'\n/* param name = 'My-App' */", []],
    [
      "param operatorRanges = ['10.1.0.0/24', '10.2.0.1', '10.300.0.0/8', '10.0.0.0/33']",
      [/10\.2\.0\.1" is not a range/, /300/, /33/],
    ],
    ["param tags = {\n  note: '''\nparam name = 'My-App'\n'''\n}", []],
    ["param name = readEnvironmentVariable('NAME')", []],
    ["var place = 'a'\nparam name = 'x-${place}'", []],
    ["param name = 'It\\'s'", [/^name is "It's"/]],
  ])('with one region: %s', (text, expected) => {
    const lines = checkText(`${NORTH}\n${text}`);
    expect(lines).toHaveLength(expected.length);
    for (const [index, line] of lines.entries()) expect(line).toMatch(expected[index] ?? /^$/);
  });

  it.each<[string, RegExp[]]>([
    ['', [/^give either regions or deployments$/]],
    ['param regions = []', [/^give either regions or deployments$/]],
    [`${NORTH}\nparam deployments = [{ name: 'a', region: 'northeurope' }]`, [/^give either/]],
    ["param regions = [\n  'northeurope'\n  'northeurope'\n]", [/^two deployments are called northeurope$/]],
    ["param regions = ['North Europe']", [/^region "North Europe": use its short name/]],
    [
      "param deployments = [\n  { name: 'a', region: 'northeurope' }\n  {\n    name: 'b'\n    region: 'northeurope'\n  }\n]",
      [],
    ],
    ["param deployments = [{ name: 'two_b', region: 'northeurope' }]", [/^deployments: name "two_b"/]],
    ["param deployments = [{ region: 'northeurope' }]", [/^deployments: name undefined/]],
    [
      "param deployments = [{ name: 'a', region: 'northeurope' }, { name: 'a', region: 'westeurope' }]",
      [/^two deployments are called a$/],
    ],
    ["param regions = split(readEnvironmentVariable('REGIONS'), ',')", []],
  ])('of where: %s', (text, expected) => {
    const lines = checkText(text);
    expect(lines).toHaveLength(expected.length);
    for (const [index, line] of lines.entries()) expect(line).toMatch(expected[index] ?? /^$/);
  });

  it('says which file is not there', () => {
    const { code, lines } = check(path.join(folder, 'none.bicepparam'));
    expect(code).toBe(1);
    expect(lines[0]).toMatch(/none\.bicepparam cannot be read: ENOENT/);
  });
});
