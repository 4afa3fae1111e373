import { buildSync } from 'esbuild';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { JobHandler } from '../../src/handler/handler';
import type { Fence } from '../../src/lease/fence';
import { scratchFolder } from '../support/scratch';

export const ROOT = path.join(__dirname, '../..');

interface Snippet {
  readonly language: string;
  readonly name: string;
  readonly code: string;
}

/** The guide, and the recipes to copy. */
const PAGES = ['docs/how-to/fencing.md', 'examples/fencing.md'];

/** Every block of code of these pages: its fence says language and name. */
export function snippets(): Snippet[] {
  const text = PAGES.map((page) => readFileSync(path.join(ROOT, page), 'utf8')).join('\n');
  return [...text.matchAll(/^```(\w*) ?([\w-]*)\n(.*?)^```$/gms)].map(([, language = '', name = '', code = '']) => ({
    language,
    name,
    code,
  }));
}

export function snippet(name: string): string {
  const found = snippets().filter((one) => one.name === name);
  if (found.length !== 1) throw new Error(`${PAGES.join(' and ')} have ${String(found.length)} snippets "${name}"`);
  return found[0]?.code ?? '';
}

/** Has the page's TypeScript in a folder, each snippet a file of its name. */
export function withSnippets<T>(use: (folder: string) => T): T {
  const folder = scratchFolder('fencing');
  try {
    for (const { language, name, code } of snippets()) {
      if (language === 'ts') writeFileSync(path.join(folder, `${name}.ts`), code);
    }
    return use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One connection to a database, as the page wants it. */
export interface Connection {
  query(sql: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** What the page's snippets export. */
interface Page {
  underFence<T>(connection: Connection, job: string, fence: Fence, write: () => Promise<T>): Promise<T>;
  readonly dailyTotals: JobHandler;
  writeReport(folder: string, fence: Fence, text: string): Promise<void>;
  /** Of DynamoDB and MongoDB. */
  writeTotal(target: object, fence: Fence, day: string, total: number): Promise<void>;
}

/** Packages that are not installed here, as far as the snippets use them at run time. */
const STAND_INS: Readonly<Record<string, string>> = {
  '@aws-sdk/lib-dynamodb': 'export class PutCommand { constructor(input) { this.input = input; } }',
};

/**
 * Runs one of the page's snippets, with those that it imports.
 *
 * @param edits what to change in the page's text, each of which it must have
 */
export function load(file: string, edits: Readonly<Record<string, string>> = {}): Partial<Page> {
  return withSnippets((folder) => {
    // What the snippets use of the library at run time, without the host's packages.
    const library = path.join(folder, 'library.ts');
    writeFileSync(
      library,
      `export { defineJob } from '${ROOT}/src/handler/handler';\n` +
        `export { StaleLeaderError } from '${ROOT}/src/lease/fence';\n`,
    );
    for (const [from, to] of Object.entries(edits)) {
      const edited = readdirSync(folder)
        .map((name) => path.join(folder, name))
        .filter((name) => readFileSync(name, 'utf8').includes(from));
      if (edited.length === 0) throw new Error(`${PAGES.join(' and ')} have no ${from}`);
      for (const name of edited) writeFileSync(name, readFileSync(name, 'utf8').replaceAll(from, to));
    }
    const alias: Record<string, string> = { cronlease: library };
    for (const [name, code] of Object.entries(STAND_INS)) {
      alias[name] = path.join(folder, `${name.replaceAll(/\W/g, '-')}.js`);
      writeFileSync(alias[name], code);
    }
    const outfile = path.join(folder, `${file}.js`);
    buildSync({
      entryPoints: [path.join(folder, `${file}.ts`)],
      outfile,
      alias,
      bundle: true,
      platform: 'node',
      format: 'cjs',
    });
    return createRequire(__filename)(outfile) as Partial<Page>;
  });
}

export function loadUnderFence(edits: Readonly<Record<string, string>> = {}): Page['underFence'] {
  const { underFence } = load('under-fence', edits);
  if (underFence === undefined) throw new Error('examples/fencing.md exports no underFence');
  return underFence;
}
