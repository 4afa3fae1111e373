import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { publint } from 'publint';
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../support/needs';
import { packInto } from '../support/packed';
import { root } from '../support/program';

const APP = `
import { defineJob, LeaderElection, NonRetryableError, registerCoordinator } from 'cronlease';
import { createClient } from 'cronlease/client';
import { createRunner } from 'cronlease/runner';
import { runJob } from 'cronlease/testing';

const hello = defineJob({ run: async ({ scheduledFor }) => ({ due: scheduledFor.toISOString() }) });
registerCoordinator({ jobs: 'jobs.json', handlers: { hello } });
export async function all(): Promise<string | undefined> {
  const { runs } = await createClient({ baseUrl: 'http://127.0.0.1/api/manage/', key: 'k' }).listRuns();
  const error: Error = new NonRetryableError('no');
  console.log(error, LeaderElection, createRunner, runJob);
  return runs[0]?.outcome;
}
// Without types, these would be any.
// @ts-expect-error: jobs are a file or an object
registerCoordinator({ jobs: 1, handlers: {} });
// @ts-expect-error: the client has no such call
createClient({ baseUrl: '' }).nothing();
`;

/** The compilers by their major version. The template of `func init` has 5, and had 4 before: apps still have it. */
const compilers: Record<string, string> = {};
let app: string;
let packed: string;
let tarball: Buffer;

/** An app with the tarball, and with the packages of this clone in place of those that npm would install. */
beforeAll(() => {
  app = mkdtempSync(path.join(tmpdir(), 'cronlease-types-'));
  packed = packInto(app);
  tarball = readFileSync(packed);
  const modules = path.join(app, 'node_modules');
  mkdirSync(path.join(modules, '@types'), { recursive: true });
  execFileSync('tar', ['-xzf', packed, '-C', modules]);
  renameSync(path.join(modules, 'package'), path.join(modules, 'cronlease'));
  const ours = path.join(root, 'node_modules');
  for (const name of readdirSync(ours)) {
    if (!name.startsWith('.') && !['@types', 'cronlease'].includes(name)) link(ours, modules, name);
  }
  link(ours, modules, '@types/node');
  const old = path.join(app, '4');
  const install = [
    'install',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    '--prefix',
    old,
    'typescript@4.9.5',
    '@types/node@20',
  ];
  execFileSync('npm', install, { cwd: app, shell: process.platform === 'win32' });
  compilers['4'] = path.join(old, 'node_modules/typescript/bin/tsc');
  const linter = createRequire(createRequire(__filename).resolve('@arethetypeswrong/core'));
  compilers['5'] = linter.resolve('typescript/bin/tsc');
}, 240_000);

function link(from: string, to: string, name: string): void {
  symlinkSync(path.join(from, name), path.join(to, name), 'junction');
}

/** What a compiler says of a source with these options. */
function compile(typescript: '4' | '5', name: string, options: object): string {
  writeFileSync(path.join(app, name), APP);
  const config = { compilerOptions: { types: ['node'], noEmit: true, ...options }, files: [name] };
  writeFileSync(path.join(app, 'tsconfig.json'), JSON.stringify(config));
  return spawnSync(process.execPath, [compilers[typescript] ?? '', '-p', app], { encoding: 'utf8' }).stdout;
}

/** What `func init --worker-runtime node --language typescript --model V4` writes, as far as npm and tsc read it. */
const TEMPLATE = {
  'package.json': {
    ...{ name: '', version: '1.0.0', description: '', main: 'dist/src/functions/*.js' },
    scripts: {
      ...{ build: 'tsc', watch: 'tsc -w', clean: 'rimraf dist' },
      ...{ prestart: 'npm run clean && npm run build', start: 'func start', test: 'echo "No tests yet..."' },
    },
    dependencies: { '@azure/functions': '^4.0.0' },
    devDependencies: { '@types/node': '18.x', typescript: '^5.0.0', rimraf: '^5.0.0' },
  },
  'tsconfig.json': {
    compilerOptions: {
      ...{ module: 'commonjs', target: 'es6', outDir: 'dist', rootDir: '.', sourceMap: true, strict: false },
      esModuleInterop: true,
    },
  },
};

/** The page for apps that exist. */
function page(): string {
  return readFileSync(path.join(root, 'docs/how-to/existing-app.md'), 'utf8');
}

/** A snippet of it. */
function snippet(language: 'ts' | 'json', having: string): string {
  const found = [...page().matchAll(/^```(\w+)\n([^]*?)^```$/gm)].find(
    ([, of, text = '']) => of === language && text.includes(having),
  );
  return found?.[2] ?? '';
}

/** Loads an app by its `main`, as a Functions worker does, and returns the names of its functions. */
function functionsOf(folder: string, file: string): readonly string[] {
  const program = path.join(root, 'test/support/start-process.cjs');
  const env = { PATH: process.env['PATH'], CRONLEASE_STORAGE: 'UseDevelopmentStorage=true' };
  const { stdout, stderr } = spawnSync(process.execPath, [program, file], { cwd: folder, encoding: 'utf8', env });
  if (stdout === '') throw new Error(stderr);
  return (JSON.parse(stdout) as { functions: readonly string[] }).functions;
}

/** The resources that the command of the page deploys, with its parameters. */
function predicted(folder: string): readonly { readonly type: string }[] {
  cpSync(path.join(root, 'infra'), path.join(folder, 'infra'), { recursive: true });
  const [, parameters = ''] = /coordination\.bicep \\\n\s+--parameters ([^]*?)\n\s+```/.exec(page()) ?? [];
  const lines = [...parameters.matchAll(/(\w+)=(?:'([^']*)'|(\S+))/g)].map(([, name = '', json, text = '']) => {
    const value = json?.replaceAll('…', '11111111-1111-1111-1111-111111111111');
    return `param ${name} = ${value === undefined ? `'${text}'` : `json('${value}')`}`;
  });
  writeFileSync(
    path.join(folder, 'infra/own.bicepparam'),
    ["using 'coordination.bicep'", ...lines, "param tags = { team: 'jobs' }", ''].join('\n'),
  );
  execFileSync('bicep', ['snapshot', 'infra/own.bicepparam', '--mode', 'overwrite'], { cwd: folder });
  const snapshot = readFileSync(path.join(folder, 'infra/own.snapshot.json'), 'utf8');
  return (JSON.parse(snapshot) as { predictedResources: readonly { type: string }[] }).predictedResources;
}

describe('the tarball in an app of "func init"', () => {
  it('is built by its scripts with the code of the page, pruned as for a deployment, and its account is compiled', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'cronlease-template-'));
    for (const [name, content] of Object.entries(TEMPLATE)) {
      writeFileSync(path.join(folder, name), JSON.stringify(content, undefined, 2));
    }
    const npm = (...args: readonly string[]): string =>
      execFileSync('npm', args, { cwd: folder, encoding: 'utf8', shell: process.platform === 'win32' });
    npm('install', '--no-audit', '--no-fund', '--prefer-offline', packed);
    mkdirSync(path.join(folder, 'src/functions'), { recursive: true });
    writeFileSync(path.join(folder, 'src/functions/cronlease.ts'), snippet('ts', 'registerCoordinator'));
    writeFileSync(path.join(folder, 'jobs.json'), snippet('json', '"jobs": {'));
    writeFileSync(path.join(folder, 'host.json'), snippet('json', '"durableTask"'));
    npm('run', 'clean');
    npm('run', 'build');
    expect(functionsOf(folder, 'dist/src/functions/cronlease.js')).toEqual(
      expect.arrayContaining(['cronleaseTick', 'cronleaseRun', 'cronleaseAttempt', 'cronleaseManage']),
    );
    expect(npm('exec', '--', 'cronlease', 'validate')).toContain('jobs.json is valid: 1 job.');
    // What a pipeline deploys.
    npm('prune', '--omit=dev', '--no-audit', '--no-fund');
    expect(functionsOf(folder, 'dist/src/functions/cronlease.js')).toContain('cronleaseTick');
    if (!has('bicep', 'the coordination account of an existing app, compiled with parameters of its own')) return;
    const types = predicted(folder).map(({ type }) => type.replace('Microsoft.', ''));
    expect(types.filter((type) => type === 'Authorization/roleAssignments')).toHaveLength(3);
    expect(types).toEqual(
      expect.arrayContaining(['Storage/storageAccounts', 'Storage/storageAccounts/managementPolicies']),
    );
  }, 240_000);
});

describe('the types of the tarball', () => {
  it('are found by every resolution, and the package has no fault that its linters know', async () => {
    const { problems } = { problems: [], ...(await checkPackage(createPackageFromTarballData(tarball))) };
    expect(problems).toEqual([]);
    const { messages } = await publint({ pack: { tarball: new Uint8Array(tarball).buffer } });
    expect(messages).toEqual([]);
  });

  // The options of the TypeScript template of Azure Functions. It says "strict": false.
  it.each([
    ['4', true],
    ['4', false],
    ['5', true],
    ['5', false],
  ] as const)('compile in the stock template, by TypeScript %s, strict: %s', (typescript, strict) => {
    const options = { module: 'commonjs', target: 'es6', outDir: 'dist', rootDir: '.', sourceMap: true, strict };
    // TypeScript 4 cannot read those of this clone's Node.
    const ofItsTime = typescript === '4' && { typeRoots: [path.join(app, '4/node_modules/@types')] };
    expect(compile(typescript, 'app.ts', { ...options, ...ofItsTime })).toBe('');
  });

  // Types of a package that @azure/identity brings do not compile as those of an ES module.
  it.each([
    ['an ES module', 'app.mts', { module: 'nodenext', target: 'es2022', skipLibCheck: true }],
    ['a bundler', 'bundled.ts', { module: 'esnext', moduleResolution: 'bundler', target: 'es2022' }],
    // The default of TypeScript 6.
    ['an app that names no types', 'unnamed.ts', { module: 'commonjs', target: 'es2022', types: [] }],
  ])('compile for %s', (_, name, options) => {
    expect(compile('5', name, { ...options, strict: true })).toBe('');
  });

  it('name no package that npm does not install with it', () => {
    const folder = path.join(app, 'node_modules/cronlease');
    const { dependencies } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>;
    };
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.d\.m?ts$/.test(file));
    const named = files.flatMap((file) =>
      [...readFileSync(path.join(folder, file), 'utf8').matchAll(/(?:\bfrom |import\()'([@a-z][^']*)'/g)].map(
        ([, name = '']) => name,
      ),
    );
    expect(named).toContain('@opentelemetry/api');
    expect(named.filter((name) => !name.startsWith('node:') && !Object.hasOwn(dependencies, name))).toEqual([]);
  });

  it('have no maps beside them, and the package names the library as its main file', () => {
    const folder = path.join(app, 'node_modules/cronlease');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    expect(files.filter((file) => file.endsWith('.map'))).toEqual([]);
    expect(JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))).toMatchObject({
      main: './dist/lib/index.js',
      types: 'dist/lib/index.d.ts',
    });
  });

  it('belong to code that a bundler takes', async () => {
    cpSync(path.join(root, 'jobs.json'), path.join(app, 'jobs.json'));
    writeFileSync(path.join(app, 'entry.ts'), APP);
    const { errors, warnings } = await build({
      ...{ absWorkingDir: app, entryPoints: ['entry.ts'], bundle: true, platform: 'node', format: 'cjs', write: false },
      external: ['@azure/functions-core', 'apache-arrow', 'pg-native', 'pg-cloudflare', 'azurite'],
    });
    expect([errors, warnings]).toEqual([[], []]);
  });
});
