import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { coordinatedApp } from '../support/coordinated';
import { endAll, startDev } from '../support/dev-run';
import { buildLocal } from '../support/local-build';
import { scratchFolder } from '../support/scratch';

const root = path.join(__dirname, '../..');
afterAll(endAll);

/** Stands in for the module that the worker provides. */
const CORE = `
let model;
const disposable = { dispose() {} };
module.exports = {
  version: '1', hostVersion: '4',
  Disposable: class { static from() { return disposable; } dispose() {} },
  registerFunction: () => disposable, registerHook: () => disposable,
  setProgrammingModel: (value) => { model = value; }, getProgrammingModel: () => model,
  log() {}, getFuncMetadata() {},
};`;

/**
 * The library, in its own process: prints the packages that it has loaded, once the one that its second parameter names
 * is there. Without that parameter, after the time in which it would load some.
 */
const APP = `
require('node:module').prototype.require = ((original) => function (id) {
  return id === '@azure/functions-core' ? original.call(this, ${JSON.stringify('./core.js')}.replace('.', __dirname)) : original.call(this, id);
})(require('node:module').prototype.require);
const { registerCoordinator, defineJob } = require(process.argv[2]);
registerCoordinator({ jobs: { jobs: { one: { schedule: '@daily' } } }, handlers: { one: defineJob({ run() {} }) } });
const print = () => {
  const names = Object.keys(require.cache).flatMap((file) => /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(file)?.[1] ?? []);
  const own = Object.keys(require.cache).flatMap((file) => /dist\\/lib\\/(telemetry\\/.+)\\.js$/.exec(file)?.[1] ?? []);
  console.log(JSON.stringify({ packages: [...new Set(names)].sort(), own: own.sort() }));
  process.exit();
};
const awaited = process.argv[3];
if (awaited === undefined) setTimeout(print, 1500);
else setInterval(() => Object.keys(require.cache).some((file) => file.includes(awaited)) && print(), 50);`;

async function loadedWith(env: Readonly<Record<string, string>>, awaited?: string) {
  const folder = scratchFolder('telemetry-off');
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'core.js'), CORE);
  writeFileSync(path.join(folder, 'app.js'), APP);
  writeFileSync(path.join(folder, 'host.json'), '{"version":"2.0"}');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [path.join(folder, 'app.js'), path.join(root, 'dist/lib/index.js'), ...(awaited === undefined ? [] : [awaited])],
    { cwd: folder, env: { PATH: process.env['PATH'], CRONLEASE_STORAGE: 'UseDevelopmentStorage=true', ...env } },
  );
  const loaded = JSON.parse(stdout.split('\n').at(-2) ?? '') as { packages: string[]; own: string[] };
  // durable-functions loads the API by itself.
  const telemetry = /^@opentelemetry\/(?!api$)|^@azure\/monitor/;
  return { packages: loaded.packages.filter((name) => telemetry.test(name)), own: loaded.own };
}

const OTLP = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
const AZURE = {
  APPLICATIONINSIGHTS_CONNECTION_STRING:
    'InstrumentationKey=00000000-0000-0000-0000-000000000001;IngestionEndpoint=http://127.0.0.1:9/',
};

describe('an app whose settings name no receiver', () => {
  it.each([{}, { ...OTLP, CRONLEASE_TELEMETRY: 'off' }, { ...OTLP, OTEL_SDK_DISABLED: 'true' }])(
    'loads nothing of OpenTelemetry: %o',
    async (env) => {
      const { packages, own } = await loadedWith(env);
      expect(packages).toEqual([]);
      expect(own).toEqual(['telemetry/feed', 'telemetry/settings']);
    },
  );
});

describe('an app whose settings name a receiver', () => {
  it('loads the exporters of OTLP, and not those of Azure', async () => {
    const { packages } = await loadedWith(OTLP, '@opentelemetry/exporter-trace-otlp-proto');
    expect(packages).toContain('@opentelemetry/exporter-trace-otlp-proto');
    expect(packages).toContain('@opentelemetry/sdk-metrics');
    expect(packages).not.toContain('@azure/monitor-opentelemetry-exporter');
  });

  it('loads the exporters of Azure, and not those of OTLP', async () => {
    const { packages } = await loadedWith(AZURE, '@azure/monitor-opentelemetry-exporter');
    expect(packages).toContain('@azure/monitor-opentelemetry-exporter');
    expect(packages).not.toContain('@opentelemetry/exporter-trace-otlp-proto');
  });

  it('loads the API alone if the app has an SDK of its own', async () => {
    const { packages, own } = await loadedWith({ ...OTLP, CRONLEASE_TELEMETRY: 'app' }, 'telemetry/opentelemetry');
    expect(packages).toEqual([]);
    expect(own).toContain('telemetry/opentelemetry');
  });

  it('runs its jobs without the packages, and names the command that installs them', async () => {
    const app = coordinatedApp({ often: { schedule: '* * * * * *', handler: 'mark' } });
    const dev = startDev(buildLocal(), { app: app.folder, instances: 1 }, { ...app.env, ...OTLP });
    const { reason } = await dev.event(
      ({ event, reason: why }) => event === 'warning' && /npm install/.test(String(why)),
    );
    expect(reason).toMatch(/@opentelemetry\/sdk-metrics.*@opentelemetry\/exporter-trace-otlp-proto/);
    expect(reason).not.toMatch(/…|@azure/);
    await dev.event(({ event }) => event === 'succeeded');
  });
});
