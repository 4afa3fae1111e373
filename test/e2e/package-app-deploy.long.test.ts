import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { encodePresence } from '../../src/core/presence';

const script = path.join(__dirname, '../../scripts/deploy.mjs');
const APPS = ['rg-north/app-north', 'rg-west/app-west', 'rg-east/app-east'];
const COORDINATION = 'https://account.blob.core.windows.net';
const REVISION = '1790000000';

/** How an app of the fake Azure behaves. */
interface App {
  /** What `az functionapp deployment` does; `loops` is what it does where admin endpoints are closed. */
  readonly deploy?: 'works' | 'unhealthy' | 'loops' | 'fails';
  readonly health?: number;
  /** The last tick, before and after the deployment. */
  readonly before?: Tick;
  readonly after?: Tick | 'denied';
}
type Tick = Readonly<Record<string, string>>;

/** Stands in for the Azure CLI: writes down how it was called, and answers by the file beside it. */
const AZ = `#!${process.execPath}
const fs = require('node:fs');
const [, , ...args] = process.argv;
const folder = __dirname;
fs.appendFileSync(folder + '/calls', JSON.stringify(args) + '\\n');
const { apps, loggedIn, outputs } = JSON.parse(fs.readFileSync(folder + '/azure.json', 'utf8'));
const option = (name) => args[args.indexOf(name) + 1];
const fail = (text) => { console.error('ERROR: ' + text); process.exit(3); };
const command = args.join(' ').split(' --', 1)[0];
if (!loggedIn) fail("Please run 'az login' to setup account.");
if (command === 'account show') process.exit();
if (command === 'deployment sub show') console.log(JSON.stringify(outputs));
if (command === 'resource show') console.log(option('--name') + '.azurewebsites.net');
if (command === 'storage blob metadata show') {
  const name = option('--name').replace('deployments/', '');
  const { before, after } = apps[name];
  const tick = fs.existsSync(folder + '/deployed-' + name) ? after : before;
  if (tick === 'denied') fail('You do not have the required permissions needed to perform this operation.');
  if (tick === undefined) fail('The specified blob does not exist.');
  console.log(JSON.stringify(tick));
}
if (command === 'functionapp deployment source config-zip') {
  const name = option('--name');
  const { deploy = 'works' } = apps[name];
  if (deploy === 'fails') fail('Zip deployment failed.');
  fs.writeFileSync(folder + '/deployed-' + name, '');
  console.error('WARNING: Waiting for sync triggers...\\nWARNING: Checking the health of the function app');
  if (deploy === 'unhealthy') fail('Deployment was successful but the app appears to be unhealthy.');
  if (deploy === 'loops') setInterval(() => undefined, 1000);
}
`;

/** The apps' own answers. */
const FETCH = `
const fs = require('node:fs');
globalThis.fetch = async (url) => {
  fs.appendFileSync(__dirname + '/calls', JSON.stringify(['GET', url]) + '\\n');
  const name = new URL(url).hostname.split('.')[0];
  const { apps } = JSON.parse(fs.readFileSync(__dirname + '/azure.json', 'utf8'));
  return { status: apps[name].health ?? 200 };
};
`;

/** As a deployment writes it. */
function tick(revision: string, instance: string): Tick {
  const nothing = {
    hub: undefined,
    rival: undefined,
    jobs: '',
    version: '0.1.0',
    tickEveryMs: 15_000,
    skewMs: 0,
    hubProven: true,
  };
  return encodePresence({ ...nothing, instance, revision: Number(revision), tickedAt: 1_790_000_000_000 });
}

const NEW = tick(REVISION, 'new');
const OLD = tick('1780000000', 'old');
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'cronlease-deploy-'));
  write('az', AZ);
  chmodSync(path.join(folder, 'az'), 0o755);
  write('fetch.cjs', FETCH);
  mkdirSync(path.join(folder, 'package/app'), { recursive: true });
  mkdirSync(path.join(folder, 'own'));
  write('package/cronlease.zip', '');
  write('package/app/jobs.json', JSON.stringify({ revision: Number(REVISION) }));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(file: string, text: string): void {
  writeFileSync(path.join(folder, file), text);
}

function azure(apps: Readonly<Record<string, App>>, more: object = {}): void {
  write('azure.json', JSON.stringify({ apps, loggedIn: true, ...more }));
}

async function deploy(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<{ code: number; text: string }> {
  const command = [script, '--package', path.join(folder, 'package'), ...args];
  const NODE_OPTIONS = `--require=${path.join(folder, 'fetch.cjs')}`;
  return new Promise((resolve) => {
    const options = { env: { PATH: folder, NODE_OPTIONS, ...env } };
    const child = execFile(process.execPath, command, options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, text: stdout + stderr });
    });
  });
}

/** What was done to which app, in order; a repeated look at one thing is one. */
function calls(): string[] {
  const file = path.join(folder, 'calls');
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const named = lines.map((line) => {
    const args = JSON.parse(line) as string[];
    const name = args[args.indexOf('--name') + 1];
    if (args[0] === 'GET') return `health ${new URL(args[1] ?? '').hostname.split('.')[0] ?? ''}`;
    if (args[0] === 'storage') return `tick ${name?.replace('deployments/', '') ?? ''}`;
    if (args[0] === 'functionapp') return `deploy ${name ?? ''}`;
    return '';
  });
  return named.filter((call, index) => call !== '' && call !== named[index - 1]);
}

function azCalls(first: string): string[][] {
  const lines = readFileSync(path.join(folder, 'calls'), 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as string[]).filter(([command]) => command === first);
}

it('deploys one app after another, each behind the gate of the one before', async () => {
  azure({ 'app-north': { before: OLD, after: NEW }, 'app-west': { after: NEW }, 'app-east': { after: NEW } });
  const { code, text } = await deploy(['--coordination', COORDINATION, ...APPS]);
  expect(code, text).toBe(0);
  const each = (name: string): string[] => [`tick ${name}`, `deploy ${name}`, `health ${name}`, `tick ${name}`];
  expect(calls()).toEqual([...each('app-north'), ...each('app-west'), ...each('app-east')]);
  expect(azCalls('functionapp')[0]).toEqual([
    ...['functionapp', 'deployment', 'source', 'config-zip', '--resource-group', 'rg-north', '--name', 'app-north'],
    ...['--src', path.join(folder, 'package/cronlease.zip'), '--build-remote', 'false', '--timeout', '600'],
    ...['--output', 'none'],
  ]);
  expect(azCalls('storage')[0]?.join(' ')).toContain('--auth-mode login --account-name account');
  expect(azCalls('GET')[0]).toEqual(['GET', 'https://app-north.azurewebsites.net/api/manage/health']);
});

it.each<[string, App, string]>([
  ['the deployment fails', { deploy: 'fails', before: OLD }, 'Zip deployment failed'],
  ['health does not answer 200', { after: NEW, health: 503 }, 'health 503'],
  ['no tick of the package is seen', { before: OLD, after: OLD }, 'revision 1780000000, not 1790000000'],
  ['the tick is from before the deployment', { before: NEW, after: NEW }, 'last tick was before this deployment'],
  ['ticks cannot be read', { after: 'denied' }, 'Storage Blob Data Reader'],
])('stops before the next app when %s', async (_case, app, why) => {
  azure({ 'app-north': app });
  const { code, text } = await deploy(['--timeout', '0.1', '--coordination', COORDINATION, ...APPS]);
  expect(code).toBe(1);
  expect(text).toContain(why);
  expect(text).toContain('Not touched: app-west, app-east');
  expect(calls().filter((call) => !call.endsWith('app-north'))).toEqual([]);
});

it.each(['unhealthy', 'loops'] as const)('goes by the gate where az is not let in and %s', async (how) => {
  azure({ 'app-north': { deploy: how, after: NEW } });
  const { code, text } = await deploy(['--coordination', COORDINATION, 'rg-north/app-north']);
  expect(code, text).toBe(0);
  expect(text).toContain('app-north: healthy');
});

it('goes on after azd, which has deployed to the first app of its outputs', async () => {
  azure({ 'app-north': { before: NEW }, 'app-west': { before: OLD, after: NEW } });
  const { code, text } = await deploy(['--first-is-deployed'], {
    appNames: '["app-north","app-west"]',
    appGroups: '["rg-north","rg-west"]',
    coordinationUri: `${COORDINATION}/`,
  });
  expect(code, text).toBe(0);
  expect(calls().filter((call) => call.startsWith('deploy'))).toEqual(['deploy app-west']);
  expect(calls().slice(0, 2)).toEqual(['health app-north', 'tick app-north']);
});

it('takes what is not given from the outputs of a deployment', async () => {
  const outputs = {
    appNames: { type: 'Array', value: ['app-west'] },
    appGroups: { type: 'Array', value: ['rg-west'] },
    coordinationUri: { type: 'String', value: COORDINATION },
  };
  azure({ 'app-west': { after: NEW } }, { outputs });
  const { code, text } = await deploy(['--deployment', 'cronlease']);
  expect(code, text).toBe(0);
  expect(calls()).toContain('deploy app-west');
  expect((await deploy(['--deployment', 'cronlease', '--list'])).text).toBe('["rg-west/app-west"]\n');
});

it('deploys nothing with --gate-only, and asks for no tick with --health-only', async () => {
  azure({ 'app-north': { before: NEW }, 'app-west': {} });
  expect((await deploy(['--gate-only', '--coordination', COORDINATION, 'rg-north/app-north'])).code).toBe(0);
  expect(calls()).toEqual(['health app-north', 'tick app-north']);
  expect((await deploy(['--health-only', 'rg-west/app-west'])).code).toBe(0);
  expect(calls().slice(2)).toEqual(['deploy app-west', 'health app-west']);
});

it('waits for the gate of an app that was deployed from elsewhere, by the jobs.json in its own folder', async () => {
  const revision = tick('0', 'new');
  azure({ 'app-north': { before: revision }, 'app-west': { before: NEW } });
  write('own/jobs.json', JSON.stringify({ jobs: {} }));
  const gate = [
    '--gate-only',
    '--timeout',
    '0.1',
    '--package',
    path.join(folder, 'own'),
    '--coordination',
    COORDINATION,
  ];
  const { code, text } = await deploy([...gate, 'rg-north/app-north']);
  expect(text).toBe('app-north: healthy, and ticks with revision 0\n');
  expect(code).toBe(0);
  expect((await deploy([...gate, 'rg-west/app-west'])).text).toContain('last tick with revision 1790000000, not 0');
  expect((await deploy([...gate.slice(1), 'rg-north/app-north'])).text).toContain('cronlease.zip is missing');
});

it('touches nothing when it cannot begin', async () => {
  azure({}, { loggedIn: false });
  const login = await deploy(['--coordination', COORDINATION, ...APPS]);
  expect(login).toMatchObject({ code: 1, text: expect.stringContaining("Please run 'az login'") as string });
  for (const [args, why] of [
    [['app-north'], 'is not GROUP/APP'],
    [[], 'no app is named'],
    [['rg/app-north', 'rg/app-north'], 'named twice'],
    [['--coordination', 'http://here', 'rg/app-north'], '--coordination'],
    [['--timeout', 'soon', 'rg/app-north'], '--timeout soon'],
    [['--package', '/nowhere', 'rg/app-north'], 'npm run package'],
    [['--unknown'], "'--unknown'"],
  ] as const) {
    const { code, text } = await deploy(args);
    expect(code, text).toBe(1);
    expect(text).toContain(why);
  }
  expect((await deploy(['--coordination', COORDINATION, ...APPS], { PATH: '/nowhere' })).text).toContain(
    'az was not found',
  );
  expect(calls()).toEqual([]);
});
