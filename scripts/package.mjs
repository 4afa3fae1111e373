// Builds the app and writes the deployed package, as a folder and as a zip: npm run package -- --help
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { zipSync } from 'fflate';

const USAGE = `npm run package -- [options]

Builds, checks the jobs file with its handlers, and writes package/app, what a function app needs and nothing else, and
package/cronlease.zip, the same as one file.

  --check        only check; write no package
  --built        use the output of the last "npm run build"
  --jobs FILE    the jobs file (default: jobs.json)
  --out FOLDER   where to write app and cronlease.zip (default: package)
  --store NAME    add the client of a store beside blobs: postgres, redis, zookeeper, etcd,
                  consul
  --revision N   the revision to set (default: the time of the build in whole seconds since 1970)`;

/** Every file in the zip has this time: the same content gives the same zip, in any time zone. */
const MTIME = new Date(2000, 0, 1);
const UNIX = 3;
const READABLE_FILE = 0o100644 << 16;

/** What a store beside blobs adds: its adapter with its client. */
const STORES = {
  postgres: 'dist/postgres.js',
  redis: 'dist/redis.js',
  zookeeper: 'dist/zookeeper.js',
  etcd: 'dist/etcd.js',
  consul: 'dist/consul.js',
};

/** Loaded only if metrics and traces are exported. */
const TELEMETRY = 'dist/telemetry.js';

const root = path.join(import.meta.dirname, '..');
const load = createRequire(path.join(root, 'dist/lib/index.js'));

function options() {
  const { values } = parseArgs({
    options: {
      built: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      jobs: { type: 'string', default: path.join(root, 'jobs.json') },
      out: { type: 'string', default: path.join(root, 'package') },
      store: { type: 'string', multiple: true, default: [] },
      revision: { type: 'string', default: String(Math.floor(Date.now() / 1000)) },
      help: { type: 'boolean', default: false },
    },
  });
  const revision = Number(values.revision);
  if (!Number.isSafeInteger(revision) || revision < 0) throw new Error(`--revision ${values.revision}: a whole number`);
  const unknown = values.store.find((name) => !Object.hasOwn(STORES, name));
  if (unknown !== undefined) throw new Error(`--store ${unknown}: use ${Object.keys(STORES).join(', ')}`);
  return { ...values, revision, stores: [...new Set(values.store)].map((name) => STORES[name]) };
}

/** Checks the jobs file as an app with these handlers and this host.json would at its start. */
function check(file) {
  const { loadJobs } = load('./config/load.js');
  const { formatIssue } = load('./config/config-error.js');
  const { functionTimeout } = load('./functions/settings.js');
  const { handlers } = load('./jobs/index.js');
  const { jobsFile, warnings, calendars } = loadJobs(path.resolve(file), {
    functionTimeoutMs: functionTimeout({}, root),
    handlers,
    now: Date.now(),
  });
  for (const warning of warnings) console.warn(`Warning: ${formatIssue(warning)}`);
  return { ...jobsFile, calendars };
}

function read(file) {
  return readFileSync(path.join(root, file));
}

/** Every file of the app, by its name. The entries of iCalendar files are written into jobs.json. */
function contents(jobsFile, { revision, stores }, calendars) {
  const { name, version, main, engines } = JSON.parse(read('package.json'));
  const jobs = { ...JSON.parse(readFileSync(jobsFile, 'utf8').replace(/^\uFEFF/, '')), revision };
  if (Object.keys(calendars).length > 0) jobs.calendars = calendars;
  const json = (value) => Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`);
  return {
    'host.json': read('host.json'),
    'jobs.json': json(jobs),
    'package.json': json({ name, version, private: true, type: 'commonjs', main, engines }),
    [main]: read(main),
    [TELEMETRY]: read(TELEMETRY),
    ...Object.fromEntries(stores.map((file) => [file, read(file)])),
  };
}

function writePackage(files, folder, zip) {
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), content);
  }
  const entry = (content) => [content, { level: 9, mtime: MTIME, os: UNIX, attrs: READABLE_FILE }];
  writeFileSync(zip, zipSync(Object.fromEntries(Object.entries(files).map(([file, one]) => [file, entry(one)]))));
}

function main() {
  const chosen = options();
  const { built, check: onlyCheck, help, jobs, out, revision } = chosen;
  if (help) {
    console.log(USAGE);
    return;
  }
  const folder = path.join(out, 'app');
  const zip = path.join(out, 'cronlease.zip');
  // If this build fails, no one must deploy an older package in its place.
  if (!onlyCheck) for (const old of [folder, zip]) rmSync(old, { recursive: true, force: true });

  if (!built) execFileSync(process.execPath, [path.join(root, 'scripts/build.mjs')], { stdio: 'inherit' });
  const jobsFile = check(jobs);
  if (jobsFile.revision > revision) {
    throw new Error(
      `revision in ${jobs} is ${jobsFile.revision}, and the package would have ${revision}: a deployment with a ` +
        'lower revision claims no job whose schedule has changed. Lower it in the file, or give a higher --revision.',
    );
  }
  const count = `${jobsFile.jobs.length} ${jobsFile.jobs.length === 1 ? 'job' : 'jobs'}`;
  if (onlyCheck) {
    console.log(`${jobs} and its handlers are valid: ${count}.`);
    return;
  }
  const files = contents(jobs, chosen, jobsFile.calendars);
  writePackage(files, folder, zip);
  const bytes = Object.values(files).reduce((sum, { length }) => sum + length, 0);
  console.log(
    `${path.relative(process.cwd(), folder)}: revision ${revision}, ${count}, ${(bytes / 1e6).toFixed(1)} MB`,
  );
  console.log(`${path.relative(process.cwd(), zip)}: ${(readFileSync(zip).length / 1e6).toFixed(1)} MB`);
}

try {
  main();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
