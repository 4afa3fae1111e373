import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program';
import { jobSchema } from '../../src/config/schema';
import { RUN_FATES, UNRUN_FATES } from '../../src/core/fate';

const root = path.join(__dirname, '../..');
const DOCUMENTS = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'examples/README.md',
  ...readdirSync(path.join(root, 'docs')).map((file) => `docs/${file}`),
];

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}

const readme = read('README.md');
const architecture = read('ARCHITECTURE.md');

/** The text under a heading, up to the next one of its level or higher. */
function section(text: string, heading: string): string {
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const lines = text.split('\n');
  const start = lines.indexOf(heading);
  if (start < 0) throw new Error(`there is no heading "${heading}"`);
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => (/^(#+) /.exec(line)?.[1] ?? '#######').length <= level);
  return rest.slice(0, end < 0 ? undefined : end).join('\n');
}

/** What stands in backticks in one column of the tables of a section. */
function column(text: string, index: number): string[] {
  return text
    .split('\n')
    .filter((line) => line.trim().startsWith('|'))
    .flatMap((line) => {
      const cell = line.trim().split(/(?<!\\)\|/)[index + 1] ?? '';
      return [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code ?? '');
    });
}

/** The names of a union of string literals in a source file. */
function union(file: string, type: string): string[] {
  const declaration = new RegExp(`export type ${type} =(.*?);\\n`, 's').exec(read(file))?.[1] ?? '';
  const names = [...declaration.replaceAll(/\/\*.*?\*\//gs, '').matchAll(/'(\w+)'/g)].map(([, name]) => name ?? '');
  if (names.length === 0) throw new Error(`${file} has no union ${type}`);
  return names;
}

function sources(folder: string): string {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => read(path.join(folder, file)))
    .join('\n');
}

function sorted(names: Iterable<string>): string[] {
  return [...new Set(names)].toSorted();
}

describe('README', () => {
  it('has every app setting that the code reads, and no other', () => {
    const listed = column(section(readme, '## App settings'), 0);
    const code = `${sources('src/functions')}\n${sources('src/stores')}`.replaceAll(
      '${CONNECTION}',
      'CRONLEASE_STORAGE',
    );
    const ours = [...code.matchAll(/CRONLEASE_[A-Z_]*[A-Z](?:__[a-z]\w*)?/g)].map(([name]) => name);
    expect(sorted(listed.filter((name) => name.startsWith('CRONLEASE_')))).toEqual(sorted(ours));
    const theirs = [...code.matchAll(/env\['((?!CRONLEASE_)\w+)'\]/g)].map(([, name]) => name ?? '');
    expect(listed).toEqual(expect.arrayContaining(theirs));
    const forTheHost = `${read('host.json')}${read('local.settings.sample.json')}`;
    for (const name of listed) {
      expect(code.includes(name) || forTheHost.includes(name), `${name} is read by nothing`).toBe(true);
    }
  });

  it('has every job setting, and no other', () => {
    const listed = column(section(readme, '## Job settings'), 0);
    expect(sorted(listed)).toEqual(sorted(Object.keys(jobSchema.shape)));
  });

  it('has every outcome and reason', () => {
    const text = section(readme, '## What becomes of a due time');
    const reasons = union('src/core/fate.ts', 'Reason');
    const events = ['instanceStopped', 'leaseLost'];
    expect(sorted(column(text, 0))).toEqual(sorted([...RUN_FATES, ...UNRUN_FATES]));
    expect(sorted(column(text, 1))).toEqual(sorted(reasons.filter((reason) => !events.includes(reason))));
    for (const reason of events) expect(text).toContain(`\`${reason}\``);
  });

  it('has every fate and reason of "why" that the ledger does not have', () => {
    const shapes = section(readme, '### JSON shapes');
    expect(sorted(column(shapes, 0))).toEqual(sorted(union('src/core/why.ts', 'Standing')));
    expect(column(shapes, 1)).toEqual(expect.arrayContaining(union('src/core/why.ts', 'StandingReason')));
  });

  it('has every member of a ledger record and of an attempt', () => {
    const shapes = section(readme, '### JSON shapes');
    const record = read('src/core/record.ts');
    for (const type of ['LedgerRecord', 'AttemptRecord', 'RecordedError']) {
      const body = new RegExp(`export interface ${type} {(.*?)\\n}`, 's').exec(record)?.[1] ?? '';
      const members = [...body.matchAll(/readonly (\w+)\??:/g)].map(([, name]) => name ?? '');
      expect(members.length).toBeGreaterThan(0);
      for (const member of members) expect(shapes).toMatch(new RegExp(`\\b${member}\\b`));
    }
  });

  it('has every event', () => {
    const listed = column(section(readme, '## Logs and health'), 0);
    const local = ['instanceExited', 'instanceStarted'];
    expect(sorted(listed)).toEqual(sorted([...union('src/core/event.ts', 'EventName'), ...local]));
  });

  it('has every command, and no other', () => {
    const [table = ''] = section(readme, '## Run, pause, and explain a job').split('###');
    const listed = column(table, 0).map((text) => text.split(' ')[0] ?? '');
    const { commands } = createProgram(() => undefined);
    expect(sorted(listed)).toEqual(sorted(commands.map((command) => command.name())));
  });

  it('names options that its commands have', () => {
    const { commands } = createProgram(() => undefined);
    const known = commands.flatMap((command) => command.options.map(({ long }) => long));
    const lines = readme.split('\n').filter((line) => line.includes('cronlease') || line.startsWith('| `'));
    const ours = lines.filter((line) => !/azurite --|npm install|func start/.test(line)).join('\n');
    const used = [...ours.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([option]) => option);
    expect(used.length).toBeGreaterThan(5);
    for (const option of used) expect([...known, '--help']).toContain(option);
  });

  it('has host.json as it is, where it says what matters', () => {
    const host = JSON.parse(read('host.json')) as object;
    const [, snippet = ''] = /What matters in `host\.json`:\n\n```json\n(.*?)```/s.exec(readme) ?? [];
    expect(host).toMatchObject(JSON.parse(snippet) as object);
  });

  it('leaves no figure to be filled in', () => {
    expect(section(readme, '## Figures')).not.toMatch(/\?|TODO/);
  });
});

describe('ARCHITECTURE', () => {
  it('cites code that exists', () => {
    const cited = [...architecture.matchAll(/`((?:src|test)\/[\w./-]+\.ts):(\w+)`/g)];
    expect(cited.length).toBeGreaterThan(30);
    for (const [, file = '', symbol = ''] of cited) {
      expect(existsSync(path.join(root, file)), file).toBe(true);
      const declared = new RegExp(`\\b(?:function\\*?|const|class|interface|type) ${symbol}\\b`);
      expect(declared.test(read(file)), `${file} declares ${symbol}`).toBe(true);
    }
  });

  it('has every room', () => {
    const rooms = readdirSync(path.join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const listed = column(section(architecture, '## Where to find it'), 0);
    expect(listed).toEqual(expect.arrayContaining(rooms.map(({ name }) => `src/${name}/`)));
  });

  it('has every metadata field of a row', () => {
    const listed = column(section(architecture, '## In storage'), 0);
    const body =
      /export function encodeRow.*?writeMetadata\({(.*?)\n {2}}\);/s.exec(read('src/core/row.ts'))?.[1] ?? '';
    const fields = [...body.matchAll(/^ {4}(\w+):/gm)].map(([, name]) => name ?? '');
    expect(fields.length).toBeGreaterThan(15);
    expect(sorted(listed.filter((name) => !name.includes('/')))).toEqual(sorted(fields));
  });

  it('gives a reason for every dependency', () => {
    const text = section(architecture, '## Dependencies');
    const { dependencies, devDependencies } = JSON.parse(read('package.json')) as Record<string, object>;
    for (const name of Object.keys({ ...dependencies, ...devDependencies })) expect(text).toContain(`\`${name}\``);
  });
});

describe.each(DOCUMENTS)('%s', (document) => {
  const text = read(document);

  it('links to what is there', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target]) => target ?? '');
    for (const link of links) {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? document : path.join(path.dirname(document), file);
      expect(existsSync(path.join(root, target)), link).toBe(true);
      if (anchor === undefined) continue;
      const anchors = [...read(target).matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
        (title ?? '')
          .toLowerCase()
          .replaceAll(/[^\w\s-]/g, '')
          .trim()
          .replaceAll(/\s/g, '-'),
      );
      expect(anchors).toContain(anchor);
    }
  });

  it('names files and npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const [, script = ''] of text.matchAll(/npm run ([a-z:]+)/g)) expect(Object.keys(scripts)).toContain(script);
    const files = [...text.matchAll(/(?<![\w./-])((?:src|test|schema|infra|scripts)\/[\w/-]+(?:\.[a-z]+)+)\b/g)];
    // The reader's own.
    const example = ['src/jobs/greet.ts', 'src/functions/cronlease.js'];
    for (const [, file = ''] of files) {
      if (!example.includes(file)) expect(existsSync(path.join(root, file)), file).toBe(true);
    }
  });
});
