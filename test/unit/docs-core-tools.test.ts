import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatDuration } from '../../src/core/duration';
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
  readonly meaning: string;
  readonly preset: string;
}

const guide = read('docs/how-to/core-tools.md');
const rows = new Map(
  [...read('docs/reference/app-settings.md').matchAll(/^\| `(\w+)` +\| (.*?) +\| (.*?) +\|$/gm)].map(
    ([, setting = '', meaning = '', preset = '']): [string, Row] => [setting, { meaning, preset }],
  ),
);
const sample = (JSON.parse(read('local.settings.sample.json')) as { Values: Readonly<Record<string, string>> }).Values;

describe('the settings of docs/reference/app-settings.md', () => {
  it('are those of the sample and those that the code reads, and no other', () => {
    const code = Object.values(sources).join('\n');
    const ours = [...code.matchAll(/CRONLEASE_[A-Z_]*[A-Z](?:__[a-z]\w*)?/g)].map(([name]) => name);
    const theirs = [...code.matchAll(/(?:\benv\[|hostSetting\(env, )'(\w+)'/g)].map(([, name]) => name ?? '');
    // functionTimeout() and hubAccount() put these names together.
    const composed = ['AzureFunctionsJobHost__functionTimeout', 'AzureWebJobsStorage'];
    const all = new Set([...Object.keys(sample), ...ours, ...theirs, ...composed]);
    expect([...rows.keys()].toSorted()).toEqual([...all].toSorted());
  });

  it('have the presets and limits of the code', () => {
    expect(rows.get('CRONLEASE_TICK')?.preset).toBe(`\`${DEFAULT_TICK}\``);
    expect(rows.get('CRONLEASE_CONTAINER')?.preset).toBe(`\`${DEFAULT_CONTAINER}\``);
    const shown = (milliseconds: string): string => `\`${formatDuration(Number(milliseconds.replaceAll('_', '')))}\``;
    const durations = [
      ...(sources['src/functions/coordinators.ts'] ?? '').matchAll(
        /durationSetting\(env, '(\w+)', ([\d_]+), ([\d_]+), ([\d_]+)\)/g,
      ),
    ];
    expect(durations.length).toBeGreaterThanOrEqual(2);
    for (const [, setting = '', preset = '', least = '', most = ''] of durations) {
      const seconds = `\`${String(Number(preset.replaceAll('_', '')) / 1000)}s\``;
      expect(rows.get(setting)?.preset).toMatch(new RegExp(`^(?:${seconds}|${shown(preset)})`));
      expect(rows.get(setting)?.meaning).toContain(`${shown(least)} to `);
      expect(rows.get(setting)?.meaning).toMatch(
        new RegExp(` to (?:${shown(most)}|\`${String(Number(most.replaceAll('_', '')) / 1000)}s\`)`),
      );
    }
  });

  it('are in the guide as the sample has them', () => {
    expect(guide).toContain(`\`CRONLEASE_SWEEP_INTERVAL\` to \`${sample['CRONLEASE_SWEEP_INTERVAL'] ?? ''}\``);
  });
});

it('the two deployments of docs/how-to/core-tools.md have nothing of a host in common', () => {
  const commands = [
    ...guide.matchAll(/^AzureFunctionsWebHost__hostid=(\w+) TASKHUB_NAME=(\w+) func start --port (\d+)$/gm),
  ];
  expect(commands).toHaveLength(2);
  for (const position of [1, 2, 3]) expect(new Set(commands.map((command) => command[position])).size).toBe(2);
});
