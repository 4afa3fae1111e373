import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_TICK } from '../../src/functions/settings';
import { DEFAULT_CONTAINER } from '../../src/stores/azure-blob/connection';

const root = path.join(__dirname, '../..');
const FOLDERS = ['src/functions', 'src/stores', 'src/stores/azure-blob', 'src/telemetry'];

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

/** The sources that may read settings, with the names that they put together written out. */
const sources = Object.fromEntries(
  FOLDERS.flatMap((folder) => readdirSync(path.join(root, folder)).map((file) => `${folder}/${file}`))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => [file, read(file).replaceAll('${CONNECTION}', 'CRONLEASE_STORAGE')]),
);

interface Row {
  readonly sample: string;
  readonly preset: string;
  readonly meaning: string;
  readonly readers: readonly string[];
}

function rowsOf(text: string): Map<string, Row> {
  const table = /\n## The settings\n(.*?)\n## /s.exec(text)?.[1] ?? '';
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line): [string, Row] => {
      const [, setting = '', sample = '', preset = '', meaning = '', readers = ''] = line
        .split('|')
        .map((cell) => cell.trim());
      const code = (cell: string): string => /^`([^`]*)`$/.exec(cell)?.[1] ?? cell;
      return [
        code(setting),
        { sample: code(sample), preset: code(preset), meaning, readers: readers.split(', ').map(code) },
      ];
    });
  return new Map(rows);
}

const guide = read('docs/how-to/core-tools.md');
const rows = rowsOf(guide);
const sample = (JSON.parse(read('local.settings.sample.json')) as { Values: Readonly<Record<string, string>> }).Values;

function seconds(milliseconds: string): string {
  return String(Number(milliseconds.replaceAll('_', '')) / 1000);
}

describe('the settings of docs/how-to/core-tools.md', () => {
  it('are those of the sample and those that the code reads, and no other', () => {
    const code = Object.values(sources).join('\n');
    const ours = [...code.matchAll(/CRONLEASE_[A-Z_]*[A-Z](?:__[a-z]\w*)?/g)].map(([name]) => name);
    const theirs = [...code.matchAll(/env\['(\w+)'\]/g)].map(([, name]) => name ?? '');
    // hubAccount() reads it by a name that host.json may change.
    const all = new Set([...Object.keys(sample), ...ours, ...theirs, 'AzureWebJobsStorage']);
    expect([...rows.keys()].toSorted()).toEqual([...all].toSorted());
  });

  it('have the values of the sample', () => {
    const inGuide = [...rows].filter(([, row]) => row.sample !== '').map(([name, row]) => [name, row.sample]);
    expect(Object.fromEntries(inGuide)).toEqual(sample);
  });

  it('are read where the guide says', () => {
    for (const [setting, { readers }] of rows) {
      const files = readers.filter((reader) => reader.startsWith('src/'));
      for (const file of files) expect(sources[file], file).toContain(setting);
      expect(readers, setting).not.toEqual(['']);
      if (readers.includes('host.json')) expect(read('host.json')).toContain(`%${setting}%`);
    }
  });

  it('have the presets and limits of the code', () => {
    expect(rows.get('CRONLEASE_TICK')?.preset).toBe(DEFAULT_TICK);
    expect(rows.get('CRONLEASE_CONTAINER')?.preset).toBe(DEFAULT_CONTAINER);
    const durations = [
      ...(sources['src/functions/coordinators.ts'] ?? '').matchAll(
        /durationSetting\(env, '(\w+)', ([\d_]+), ([\d_]+), ([\d_]+)\)/g,
      ),
    ];
    expect(durations.length).toBeGreaterThanOrEqual(2);
    for (const [, setting = '', preset = '', least = '', most = ''] of durations) {
      expect(rows.get(setting)?.preset).toBe(`${seconds(preset)}s`);
      expect(rows.get(setting)?.meaning).toContain(`${seconds(least)} s to ${seconds(most)} s`);
    }
  });
});

it('the two deployments of docs/how-to/core-tools.md have nothing of a host in common', () => {
  const commands = [
    ...guide.matchAll(/^AzureFunctionsWebHost__hostid=(\w+) TASKHUB_NAME=(\w+) func start --port (\d+)$/gm),
  ];
  expect(commands).toHaveLength(2);
  for (const position of [1, 2, 3]) expect(new Set(commands.map((command) => command[position])).size).toBe(2);
});
