// Loads an app as a Functions worker does, and prints what that took: node start-process.cjs [--by-package] [APP.js]
'use strict';
const { statSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');

const byPackage = process.argv.includes('--by-package');
const app = process.argv.slice(2).find((argument) => !argument.startsWith('--'));

class Disposable {
  dispose() {}
}
const functions = [];
let model;
/** What a worker provides, as far as an app needs it to register its functions. */
const core = {
  ...{ version: '1', hostVersion: '4', Disposable },
  registerFunction({ name }) {
    functions.push(name);
    return new Disposable();
  },
  registerHook: () => new Disposable(),
  setProgrammingModel(value) {
    model = value;
  },
  getProgrammingModel: () => model,
  getFuncMetadata() {},
  log() {},
};

const files = [];
/** Time in ms in the modules of each package, without the time in those that they require. */
const packages = new Map();
const { require: load } = Module.prototype;
let since = 0;
let current = 'start';

function spend() {
  const now = performance.now();
  packages.set(current, (packages.get(current) ?? 0) + now - since);
  since = now;
}

Module.prototype.require = function requireTimed(id) {
  if (id === '@azure/functions-core') return core;
  if (!byPackage || Module.isBuiltin(id)) return load.call(this, id);
  const before = current;
  spend();
  current = packageOf(Module.createRequire(this.filename).resolve(id));
  since = performance.now();
  try {
    return load.call(this, id);
  } finally {
    spend();
    current = before;
  }
};

function packageOf(file) {
  const [, name] = /^.*node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(file) ?? [];
  return name?.replaceAll('\\', '/') ?? 'cronlease';
}

if (app !== undefined) {
  const file = path.resolve(app);
  since = performance.now();
  current = packageOf(file);
  require(file);
  spend();
  files.push(...Object.keys(require.cache).filter((name) => name !== __filename));
}
// Since the process began.
const ms = performance.now();
const { user, system } = process.cpuUsage();
const sizes = files.map((name) => statSync(name, { throwIfNoEntry: false })?.size ?? 0);
console.log(
  JSON.stringify({
    ...{ functions, ms, cpuMs: (user + system) / 1000, files: files.length },
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    residentBytes: process.memoryUsage.rss(),
    packages: Object.fromEntries(packages),
  }),
);
