import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { isObject } from '../../src/core/metadata';
import { createProgram } from '../../src/cli/program';
import { COMPLETE } from '../../src/cli/setup/completion';
import { INSTRUMENTS } from '../../src/telemetry/instruments';
import { ENTRIES, exportsOf } from '../../scripts/library';
import { OPENAPI_FILE, openApiText } from '../../scripts/openapi';
import { documented, readSources, REFERENCE_PAGES, withTables } from '../../scripts/reference';
import { jobSchema } from '../../src/config/schema';
import { OPEN_GUIDE, REASON_GUIDE, STANDING_GUIDE, TROUBLE_GUIDE } from '../../src/core/guide';

const root = path.join(__dirname, '../..');

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

/** The names in backticks in the first cell of each row. */
function firstColumn(file: string): string[] {
  return [...read(file).matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name);
}

/** The names of all properties in a JSON schema. */
function settingsIn(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(settingsIn);
  if (!isObject(schema)) return [];
  const { properties } = schema;
  const names = isObject(properties) ? Object.keys(properties) : [];
  return [...new Set([...names, ...Object.values(schema).flatMap(settingsIn)])];
}

describe('docs/reference', () => {
  it.each(REFERENCE_PAGES)('%s is fresh: npm run reference writes it', async (file) => {
    expect(read(file)).toBe(await withTables(root, file, read(file)));
  });

  it('goes with an OpenAPI document that is fresh: npm run reference writes it', async () => {
    expect(read(OPENAPI_FILE)).toBe(await openApiText());
  });

  it('goes with an OpenAPI document whose references all lead somewhere', () => {
    const text = read(OPENAPI_FILE);
    const references = [...text.matchAll(/"\$ref": "([^"]+)"/g)].map(([, reference = '']) => reference);
    expect(references.length).toBeGreaterThan(100);
    for (const reference of new Set(references)) {
      const [start, ...names] = reference.split('/');
      const found = names.reduce<unknown>(
        (at, name) => (isObject(at) ? at[name] : undefined),
        JSON.parse(text) as unknown,
      );
      expect([start, found], reference).toEqual(['#', expect.any(Object)]);
    }
  });

  it('has a table in each page, and no stale one', async () => {
    const [file = ''] = REFERENCE_PAGES;
    for (const page of REFERENCE_PAGES) expect(read(page)).toMatch(/<!-- generated: [\w-]+ -->\n\n[|#]/);
    const stale = read(file).replace('IANA', 'Some');
    expect(await withTables(root, file, stale)).not.toBe(stale);
    await expect(withTables(root, file, '<!-- generated: nothing -->\n<!-- end -->')).rejects.toThrow('"nothing"');
  });

  it('has every job setting', () => {
    expect(firstColumn('docs/reference/jobs-file.md')).toEqual(expect.arrayContaining(Object.keys(jobSchema.shape)));
  });

  it('has every setting of the jobs file, within others too', () => {
    const names = settingsIn(JSON.parse(read('schema/jobs.schema.json')));
    expect(names).toEqual(expect.arrayContaining(['revision', 'maxParallel', 'jitter', 'yearly']));
    const page = read('docs/reference/jobs-file.md');
    expect(names.filter((name) => !new RegExp(`\`[^\`]*\\b${name.replace('$', '')}\\b[^\`]*\``).test(page))).toEqual(
      [],
    );
  });

  it('has every outcome, reason, state and alert', () => {
    const page = read('docs/reference/outcomes.md');
    const headings = [...page.matchAll(/^### `(\w+)`$/gm)].map(([, name]) => name);
    expect(headings).toEqual(Object.keys(STANDING_GUIDE));
    expect(firstColumn('docs/reference/outcomes.md')).toEqual(
      expect.arrayContaining([REASON_GUIDE, OPEN_GUIDE, TROUBLE_GUIDE].flatMap(Object.keys)),
    );
  });

  it('has every command', () => {
    const { commands } = createProgram(() => undefined);
    const shown = commands.map((command) => command.name()).filter((name) => name !== COMPLETE);
    const listed = firstColumn('docs/reference/commands.md').map((usage) => usage.split(' ')[0]);
    expect(shown.length).toBeGreaterThan(30);
    expect(listed).toEqual(expect.arrayContaining(shown));
  });

  it('has every event, and every metric', () => {
    const events = documented(readSources(root), 'EventName').map(({ name }) => name);
    expect(events.length).toBeGreaterThan(20);
    expect(firstColumn('docs/reference/events.md')).toEqual(expect.arrayContaining(events));
    const metrics = Object.values(INSTRUMENTS).map(({ name }) => name);
    expect(metrics.length).toBeGreaterThan(20);
    expect(firstColumn('docs/reference/metrics.md')).toEqual(expect.arrayContaining(metrics));
  });

  it('has every export of each entry of the package', async () => {
    const { typesVersions } = JSON.parse(read('package.json')) as {
      readonly typesVersions: Readonly<Record<'*', object>>;
    };
    const entries = ['cronlease', ...Object.keys(typesVersions['*']).map((name) => `cronlease/${name}`)];
    expect(Object.keys(ENTRIES).toSorted()).toEqual(entries.toSorted());
    const listed = firstColumn('docs/reference/library.md');
    for (const source of Object.values(ENTRIES)) {
      const values = (await import(/* @vite-ignore */ path.join(root, source))) as object;
      const exported = [...exportsOf(root, source).map(({ name }) => name), ...Object.keys(values)];
      expect(listed).toEqual(expect.arrayContaining(exported));
    }
  });

  it('has every app setting that the code reads, and no other', () => {
    const declared = documented(readSources(root), 'AppSettings').map(({ name }) => name);
    expect(firstColumn('docs/reference/app-settings.md')).toEqual(declared);
    const codeIn = (folder: string): string =>
      readSources(root, folder)
        .replace(/interface AppSettings {.*?\n}/s, '')
        .replaceAll('${CONNECTION}', 'CRONLEASE_STORAGE');
    const code = ['functions', 'stores', 'telemetry'].map((room) => codeIn(`src/${room}`)).join('\n');
    const ours = [...codeIn('src').matchAll(/\bCRONLEASE_[A-Z_]*[A-Z](?:__[a-z]\w*)?/g)].map(([name]) => name);
    expect(declared.filter((name) => name.startsWith('CRONLEASE_')).toSorted()).toEqual([...new Set(ours)].toSorted());
    const theirs = [...code.matchAll(/\benv\['((?!CRONLEASE_)\w+)'\]/g)].map(([, name = '']) => name);
    expect(declared).toEqual(expect.arrayContaining(theirs));
    const forTheHost = `${read('host.json')}${read('local.settings.sample.json')}`;
    for (const name of declared) {
      expect(code.includes(name) || forTheHost.includes(name), `${name} is read by nothing`).toBe(true);
    }
  });

  it('has the presets of the settings that are durations', () => {
    const meanings = new Map(documented(readSources(root), 'AppSettings').map(({ name, text }) => [name, text]));
    const durations = [
      ...read('src/functions/coordinators.ts').matchAll(
        /durationSetting\(env, '(\w+)', ([\d_]+), ([\d_]+), ([\d_]+)\)/g,
      ),
    ];
    expect(durations.length).toBeGreaterThanOrEqual(2);
    for (const [, name = '', preset = ''] of durations) {
      expect(meanings.get(name)).toContain(`Default: \`${String(Number(preset.replaceAll('_', '')) / 1000)}s\``);
    }
  });

  it('names the events of the local cluster, which are no events of the coordinator', () => {
    const local = [...read('src/local/cluster/deployment.ts').matchAll(/\bemit\('(\w+)'/g)].map(
      ([, name = '']) => name,
    );
    expect(local.length).toBeGreaterThan(1);
    for (const name of local) expect(read('docs/reference/events.md')).toContain(`\`${name}\``);
  });

  it('leaves no comment out', () => {
    expect(() => documented("export type Planted =\n  | 'one'\n  /** Two. */\n  | 'two';\n", 'Planted')).toThrow(
      'Planted: one has no comment',
    );
    expect(documented("export type Planted =\n  /** Two. */\n  | 'two';\n", 'Planted')).toEqual([
      { name: 'two', text: 'Two.' },
    ]);
    expect(() => documented('', 'Planted')).toThrow('declare no Planted');
  });
});
