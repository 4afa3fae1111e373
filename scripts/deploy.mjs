// Deploys the package to one function app after another, each only once the previous app is healthy: see USAGE.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { problemsOf } from './parameters.mjs';

const root = path.join(import.meta.dirname, '..');
const POLL_MS = 5_000;
const CALL_MS = 60_000;
/**
 * The line that az prints once the app is deployed. Then az asks the host for its status, which an app with closed
 * admin endpoints refuses: az reports it as unhealthy, or asks forever (https://github.com/Azure/azure-cli/pull/33388).
 * So we end az there, and the gate checks the app.
 */
const DEPLOYED = 'Checking the health of the function app';

const NO_AZ = 'az was not found: install the Azure CLI, then "az login"';

const USAGE = `node scripts/deploy.mjs [options] [GROUP/APP…]

Deploys package/cronlease.zip to function apps, one after another. Each app has a gate that must open before the next
app is deployed: api/manage/health answers 200, and the coordination container shows a tick of the deployed package. If
a gate does not open in time, the deployment stops there. Needs the Azure CLI, logged in.

  GROUP/APP                resource group and name of each app, in order (default: the outputs appNames and appGroups
                           of the infrastructure, from --deployment, or from the environment, where azd puts them)
  --deployment NAME        take missing values from the outputs of this deployment of infra/main.bicep
  --coordination URI       blob service of the coordination account (default: the output coordinationUri)
  --container NAME         coordination container (default: cronlease)
  --package FOLDER         output of "npm run package" (default: package); with --gate-only, also the folder of an app
                           that was deployed in another way: the gate waits for the "revision" of its jobs.json
  --list                   print the apps in the form of deploy.yml's variable CRONLEASE_APPS, and do nothing else
  --parameters FILE        check this parameter file of infra/main.bicep, and do nothing else
  --gate-only              deploy nothing: wait for the gate of each app
  --first-is-deployed      do not deploy the first app, because azd has done so: wait for its gate
  --health-only            let the gate check only health, if the coordination account cannot be reached
  --timeout SECONDS        the longest wait for each gate (default: 900)`;

/** The deployment cannot continue. The message gives the reason. */
class DeployError extends Error {}

async function options() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      deployment: { type: 'string' },
      coordination: { type: 'string' },
      container: { type: 'string', default: 'cronlease' },
      package: { type: 'string', default: path.join(root, 'package') },
      list: { type: 'boolean', default: false },
      parameters: { type: 'string' },
      'gate-only': { type: 'boolean', default: false },
      'first-is-deployed': { type: 'boolean', default: false },
      'health-only': { type: 'boolean', default: false },
      timeout: { type: 'string', default: '900' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help || values.parameters !== undefined) return values;
  const outputs = values.deployment === undefined ? process.env : await outputsOf(values.deployment);
  const apps = positionals.length > 0 ? positionals.map(appOf) : appsIn(outputs);
  const coordination = values.coordination ?? outputs.coordinationUri ?? '';
  return { ...values, apps, coordination, timeoutMs: Number(values.timeout) * 1000 };
}

function appOf(text) {
  const [group = '', name = ''] = text.split('/');
  return { group, name };
}

/** The apps, from outputs that are arrays, in the form that azd gives them in the environment. */
function appsIn({ appNames = '[]', appGroups = '[]' }) {
  const groups = JSON.parse(appGroups);
  return JSON.parse(appNames).map((name, index) => ({ group: groups[index] ?? '', name }));
}

async function outputsOf(deployment) {
  const text = await azOrFail(`deployment ${deployment}`, [
    ...['deployment', 'sub', 'show', '--name', deployment, '--query', 'properties.outputs', '--output', 'json'],
  ]);
  const outputs = Object.entries(JSON.parse(text) ?? {}).map(([name, { value }]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return Object.fromEntries(outputs);
}

/** The jobs that the apps have: those of the package, or of an app's own folder. */
function jobsFileOf({ package: folder, 'gate-only': gateOnly }) {
  const ofPackage = path.join(folder, 'app/jobs.json');
  return gateOnly && !existsSync(ofPackage) ? path.join(folder, 'jobs.json') : ofPackage;
}

function check({ apps, container, coordination, ...given }) {
  const problems = [];
  if (apps.length === 0) problems.push('no app is named: give GROUP/APP, or --deployment');
  for (const { group, name } of apps) {
    const fits = /^[\w.()-]{1,90}$/.test(group) && /^[a-zA-Z0-9][a-zA-Z0-9-]{0,58}[a-zA-Z0-9]$/.test(name);
    if (!fits) problems.push(`${JSON.stringify(`${group}/${name}`)} is not GROUP/APP`);
  }
  if (new Set(apps.map(({ name }) => name)).size < apps.length) problems.push('an app is named twice');
  if (!/^[a-z0-9-]{3,63}$/.test(container)) problems.push(`--container ${container} is not a container's name`);
  if (!given['health-only'] && !/^https:\/\/[a-z0-9]{3,24}\./.test(coordination)) {
    problems.push('--coordination is missing, or not like https://ACCOUNT.blob.core.windows.net');
  }
  if (!(given.timeoutMs > 0)) problems.push(`--timeout ${given.timeout} is not a number of seconds`);
  const needed = [...(given['gate-only'] ? [] : [path.join(given.package, 'cronlease.zip')]), jobsFileOf(given)];
  for (const file of needed) if (!existsSync(file)) problems.push(`${file} is missing: npm run package`);
  if (problems.length > 0) throw new DeployError(problems.join('\n'));
}

function checkParameters(file) {
  let source;
  try {
    source = readFileSync(file, 'utf8');
  } catch (error) {
    throw new DeployError(`${file} cannot be read: ${error.message}`);
  }
  const problems = problemsOf(source);
  if (problems.length > 0) throw new DeployError(problems.map((problem) => `${file}: ${problem}`).join('\n'));
  console.log(`${file}: its names and ranges are valid`);
}

/**
 * On Windows, az is a command file, which only a shell can run, and no quoting protects an argument from that shell. So
 * this does the work of that file: it runs the Python beside it.
 */
function azOfWindows() {
  for (const folder of (process.env.PATH ?? '').split(path.delimiter)) {
    if (!['az.cmd', 'az.bat'].some((file) => existsSync(path.join(folder, file)))) continue;
    const python = ['..', '.'].map((at) => path.join(folder, at, 'python.exe')).find((file) => existsSync(file));
    if (python !== undefined) return [python, '-IBm', 'azure.cli'];
  }
  throw new DeployError(NO_AZ);
}

/**
 * Runs az, and returns its output and its exit code, which is undefined where this function ended it.
 * @param until - ends az once it has printed this
 */
function az(args, { timeoutMs = CALL_MS, until } = {}) {
  const windows = process.platform === 'win32';
  const [program, ...first] = windows ? azOfWindows() : ['az'];
  // az is a script, whose own child must end with it.
  const child = spawn(program, [...first, ...args], { detached: !windows });
  const end = () => {
    try {
      if (windows) child.kill();
      else if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  };
  const interrupted = () => {
    end();
    process.exit(130);
  };
  process.once('SIGINT', interrupted);
  const timer = setTimeout(end, timeoutMs);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text) => (stdout += text));
  child.stderr.on('data', (text) => {
    stderr += text;
    if (until !== undefined && stderr.includes(until)) end();
  });
  return new Promise((resolve, reject) => {
    child.on('error', (cause) => {
      const missing = cause.code === 'ENOENT';
      reject(missing ? new DeployError(NO_AZ) : cause);
    });
    child.on('close', (code) => resolve({ code: code ?? undefined, stdout: stdout.trim(), stderr: stderr.trim() }));
  }).finally(() => {
    clearTimeout(timer);
    process.off('SIGINT', interrupted);
  });
}

function failure({ code, stderr }) {
  return stderr || (code === undefined ? 'az took too long' : `az ended with ${code}`);
}

async function azOrFail(what, args) {
  const ended = await az(args);
  if (ended.code !== 0) throw new DeployError(`${what}: ${failure(ended)}`);
  return ended.stdout;
}

async function deploy({ group, name }, { package: folder }) {
  console.log(`${name}: deploying`);
  const ended = await az(
    [
      ...['functionapp', 'deployment', 'source', 'config-zip', '--resource-group', group],
      ...['--name', name, '--src', path.join(folder, 'cronlease.zip'), '--build-remote', 'false', '--timeout', '600'],
      ...['--output', 'none'],
    ],
    { timeoutMs: 20 * 60_000, until: DEPLOYED },
  );
  if (ended.code === 0 || ended.stderr.includes(DEPLOYED)) return;
  throw new DeployError(`${name}: not deployed\n${failure(ended)}`);
}

/** The facts that the deployment last stored about itself, or the reason why they cannot be read. */
async function presence({ name }, { coordination, container }) {
  const account = new URL(coordination).hostname.split('.')[0];
  const ended = await az([
    ...['storage', 'blob', 'metadata', 'show', '--auth-mode', 'login', '--account-name', account],
    ...['--container-name', container, '--name', `deployments/${name}`, '--output', 'json'],
  ]);
  return ended.code === 0 ? (JSON.parse(ended.stdout) ?? {}) : { why: failure(ended).split('\n', 1)[0] };
}

async function health(url) {
  try {
    const { status } = await fetch(url, { signal: AbortSignal.timeout(15_000), redirect: 'manual' });
    return String(status);
  } catch (error) {
    return `no answer (${error.cause?.code ?? error.cause?.message ?? error.message})`;
  }
}

/** Waits until the app is healthy and ticks with this revision, in a new process. */
async function gate(app, revision, instanceBefore, given) {
  const { group, name } = app;
  const host = await azOrFail(`${name}: its host name is not known`, [
    ...['resource', 'show', '--resource-group', group, '--name', name],
    ...['--resource-type', 'Microsoft.Web/sites', '--query', 'properties.defaultHostName', '--output', 'tsv'],
  ]);
  if (host === '') throw new DeployError(`${name}: there is no such app in ${group}`);
  const url = `https://${host}/api/manage/health`;
  const deadline = performance.now() + given.timeoutMs;
  let said;
  for (;;) {
    const status = await health(url);
    const seen = given['health-only'] ? undefined : await presence(app, given);
    const ticks = seen === undefined || (seen.revision === revision && seen.instance !== instanceBefore);
    if (status === '200' && ticks) break;
    const state = `health ${status}${seen === undefined ? '' : `, ${tickText(seen, revision)}`}`;
    if (state !== said) console.log(`${name}: ${state}`);
    said = state;
    const left = deadline - performance.now();
    if (left <= 0) {
      const reader = 'To see ticks, this login needs Storage Blob Data Reader on the coordination container. ';
      throw new DeployError(
        `${name}: its gate did not open in ${given.timeout} s: ${state}. ${seen?.why === undefined ? '' : reader}` +
          `See its logs, and ${url}`,
      );
    }
    await wait(Math.min(POLL_MS, left));
  }
  console.log(`${name}: healthy${given['health-only'] ? '' : `, and ticks with revision ${revision}`}`);
}

function tickText(seen, revision) {
  if (seen.why !== undefined) return `no tick seen: ${seen.why}`;
  if (seen.revision !== revision) return `last tick with revision ${seen.revision}, not ${revision}`;
  return 'last tick was before this deployment';
}

async function main() {
  const given = await options();
  if (given.help) {
    console.log(USAGE);
    return;
  }
  if (given.parameters !== undefined) {
    checkParameters(given.parameters);
    return;
  }
  const { apps } = given;
  if (given.list) {
    console.log(JSON.stringify(apps.map(({ group, name }) => `${group}/${name}`)));
    return;
  }
  check(given);
  const { revision: number = 0 } = JSON.parse(readFileSync(jobsFileOf(given), 'utf8'));
  const revision = String(number);
  await azOrFail('az is not logged in', ['account', 'show', '--output', 'none']);
  for (const [index, app] of apps.entries()) {
    try {
      const skip = given['gate-only'] || (given['first-is-deployed'] && index === 0);
      let instanceBefore;
      if (!skip) {
        if (!given['health-only']) ({ instance: instanceBefore } = await presence(app, given));
        await deploy(app, given);
      }
      await gate(app, revision, instanceBefore, given);
    } catch (error) {
      const untouched = apps.slice(index + 1);
      if (error instanceof DeployError && untouched.length > 0) {
        error.message += `\nNot touched: ${untouched.map(({ name }) => name).join(', ')}`;
      }
      throw error;
    }
  }
}

try {
  await main();
} catch (error) {
  if (!(error instanceof DeployError) && !error.code?.startsWith('ERR_PARSE_ARGS')) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
