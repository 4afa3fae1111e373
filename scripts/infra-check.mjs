// Checks infra/ with the tests of the templates and, if the Bicep compiler is on the PATH, with its build, lint and
// snapshot of every file; a warning is a failure. "npm test" runs these tests too, but not the compiler.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
/** A diagnostic of the compiler: FILE(LINE,COLUMN) : Warning CODE: …, without the place in that of a snapshot. */
const DIAGNOSTIC = /\) : (?:Error|Warning|Info) |^\s*(?:Error|Warning) \w+: /;

function run(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, encoding: 'utf8', ...options });
  return { code: error === undefined ? status : undefined, error, stdout: stdout ?? '', stderr: stderr ?? '' };
}

function testsPass() {
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
  return run(process.execPath, [vitest, 'run', 'test/infra'], { stdio: 'inherit' }).code === 0;
}

/** Runs the compiler and prints its diagnostics. Returns whether there were none. */
function compilerIsContent(args, folder) {
  const { code, stdout, stderr } = run('bicep', args, { cwd: folder });
  // Standard output has the build, and no diagnostics.
  const lines = `${stderr}\n${args.includes('--stdout') ? '' : stdout}`
    .split('\n')
    .filter((line) => DIAGNOSTIC.test(line));
  const isContent = code === 0 && lines.length === 0;
  console.log(`${isContent ? 'ok   ' : 'wrong'}  bicep ${args.join(' ')}`);
  if (!isContent) console.log(lines.length > 0 ? lines.join('\n') : stderr.trim());
  return isContent;
}

/** Works on a copy, because a snapshot is written beside its parameter file. */
function compile() {
  const folder = mkdtempSync(path.join(tmpdir(), 'cronlease-infra-'));
  try {
    cpSync(path.join(root, 'infra'), path.join(folder, 'infra'), { recursive: true });
    cpSync(path.join(root, 'jobs.json'), path.join(folder, 'jobs.json'));
    const parameterFiles = readdirSync(path.join(root, 'infra'))
      .filter((file) => file.endsWith('.bicepparam'))
      .map((file) => `infra/${file}`);
    const calls = [
      ...['infra/main.bicep', 'infra/coordination.bicep', 'infra/modules/alerts.bicep'].flatMap((file) => [
        ['build', file, '--stdout'],
        ['lint', file],
      ]),
      ...parameterFiles.flatMap((file) => [
        ['build-params', file, '--stdout'],
        ['lint', file],
        ['snapshot', file, '--mode', 'overwrite'],
      ]),
    ];
    const results = calls.map((args) => compilerIsContent(args, folder));
    if (!results.every(Boolean)) return false;
    for (const file of parameterFiles) {
      const snapshot = path.join(folder, file.replace(/\.bicepparam$/, '.snapshot.json'));
      const { predictedResources } = JSON.parse(readFileSync(snapshot, 'utf8'));
      console.log(`${file} deploys ${predictedResources.length} resources`);
    }
    return true;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const version = run('bicep', ['--version']);
let passed = testsPass();
if (version.error?.code === 'ENOENT') {
  console.log('\nThere is no "bicep" on the PATH: nothing was compiled, linted or snapshot.');
  console.log('To install it: https://learn.microsoft.com/azure/azure-resource-manager/bicep/install');
} else {
  console.log(`\n${version.stdout.trim()}`);
  passed = compile() && passed;
}
process.exitCode = passed ? 0 : 1;
