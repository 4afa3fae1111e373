import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Example, docExamples } from '../support/doc-examples';
import { scratchFolder } from '../support/scratch';

const root = path.join(__dirname, '../..');

/** Names that the text around an example explains, by a text of that example. */
const AROUND: readonly (readonly [part: string, declarations: string])[] = [
  ['customersOf(', 'declare function customersOf(month: string, signal: AbortSignal): Promise<readonly string[]>;'],
  ['writeInvoice(', 'declare function writeInvoice(name: string, month: string, signal: AbortSignal): Promise<void>;'],
  [
    'orchestrator: closeMonthSteps',
    `declare const closeMonth: import('cronlease').OrchestrationHandler;
     declare function closeMonthSteps(context: never): Generator<unknown, unknown, never>;`,
  ],
  [
    'await fence.write(blob, next(content)',
    `import type { BlockBlobClient } from '@azure/storage-blob';
     import type { Fence } from 'cronlease';
     declare const blob: BlockBlobClient;
     declare const fence: Fence;
     declare function next(content: Buffer): Buffer;
     export {};`,
  ],
  [
    'http.createServer(',
    `import http from 'node:http';
     declare const runner: ReturnType<typeof import('cronlease/runner').createRunner>;`,
  ],
  ['headers: traceparent', "import { defineJob } from 'cronlease';"],
];

// Those of fencing.md run in test/fencing, and those with PostgreSQL in test/e2e/election-examples.long.test.ts.
const examples = docExamples().filter(
  ({ file, language }) => /^[jt]s$/.test(language) && !/(fencing|notices)\.md$/.test(file),
);

function sourceOf({ code }: Example): string {
  const around = AROUND.flatMap(([part, declarations]) => (code.includes(part) ? [declarations] : []));
  return [...around, code].join('\n');
}

/** What the compiler finds in these examples. It also checks the library, but not as strictly: that is left out. */
function findingsIn(name: string, all: readonly Example[], options: object): readonly string[] {
  const folder = scratchFolder(`docs-${name}`);
  const write = (file: string, text: string): void => {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  };
  const library = (file: string): [string] => [path.join(root, 'src', file)];
  const compilerOptions = {
    ...{ target: 'es2023', lib: ['es2024'], module: 'node20', moduleResolution: 'node16', types: ['node'] },
    ...{ esModuleInterop: true, skipLibCheck: true, noEmit: true },
    typeRoots: [path.join(root, 'node_modules/@types')],
    paths: {
      cronlease: library('index.ts'),
      'cronlease/client': library('client/index.ts'),
      'cronlease/runner': library('runner/index.ts'),
      'cronlease/testing': library('testing/index.ts'),
    },
    ...options,
  };
  write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['jobs'] }));
  write('index.ts', "export * from 'cronlease';");
  write('jobs/handlers.ts', 'export const handlers = {};');
  // The handler that the tutorial tests.
  write('jobs/total.ts', examples.find(({ code }) => code.includes('export const total ='))?.code ?? '');
  all.forEach((example, index) => {
    // As an ES module, which it must be.
    const kind = /^(?:\S.*\b)?await /m.test(example.code) ? 'm' : '';
    write(`jobs/example-${index}.${kind}${example.language}`, sourceOf(example));
  });
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' });
  return stdout.split('\n').flatMap((line) => {
    const [, index = '', message = ''] = /jobs[\\/]example-(\d+)\.m?[jt]s(.*)$/.exec(line) ?? [];
    return index === '' ? [] : [`${all[Number(index)]?.file ?? ''} ${message}`];
  });
}

/** Of a value that may be anything, such as the input of a handler: no one checks that in JavaScript. */
const NOT_IN_JAVASCRIPT = /on type 'unknown'|input: unknown/;

describe('the code in the documents', () => {
  const typed = examples.filter(({ language }) => language === 'ts');
  const plain = examples.filter(({ language }) => language === 'js');

  it('is found', () => {
    expect(typed.length).toBeGreaterThanOrEqual(11);
    expect(plain.length).toBeGreaterThanOrEqual(3);
  });

  it('has the types of the library, at their strictest in TypeScript', { timeout: 120_000 }, () => {
    const strict = { strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true };
    expect(findingsIn('typed', typed, strict)).toEqual([]);
    const found = findingsIn('plain', plain, { allowJs: true, checkJs: true, strict: false });
    expect(found.filter((line) => !NOT_IN_JAVASCRIPT.test(line))).toEqual([]);
    const [first] = typed;
    if (first === undefined) throw new Error('no example');
    const wrong = { ...first, code: "import { defineJobs } from 'cronlease';\ndefineJobs(1);" };
    expect(findingsIn('wrong', [wrong], strict).join()).toContain('defineJob');
  });
});
