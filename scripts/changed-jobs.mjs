// Prints what a change of jobs.json does as Markdown for a pull request: see USAGE.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';

const USAGE = `node scripts/changed-jobs.mjs REF [--file FILE]

Prints, as Markdown, what the jobs file changes against the git revision REF: "cronlease plan --against REF" and
"cronlease cost --against REF". If the file is not valid, or lacks a handler, prints its errors instead, with exit
code 1. Needs "npm run build".

  --file FILE   the jobs file (default: jobs.json)`;

/** A comment holds 65,536 characters: https://docs.github.com/rest/issues/comments */
const MOST_JOBS = 50;

const dist = path.join(import.meta.dirname, '../dist/lib');
const load = createRequire(path.join(dist, 'index.js'));
const { loadJobs } = load('./config/load.js');
const { ConfigError, formatIssue } = load('./config/config-error.js');
const { functionTimeout } = load('./functions/settings.js');
const { handlers } = load('./jobs/index.js');

/** Fences the text with more backticks than it has in a row, so that Markdown has no effect in it. */
function verbatim(text) {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}text\n${text.trimEnd()}\n${fence}`;
}

/** What the command prints, warnings included. */
function cronlease(command, ref, file, ...options) {
  const parameters = [path.join(dist, 'cli/main.js'), command, '--against', ref, '--file', file, ...options];
  const { status, stdout, stderr } = spawnSync(process.execPath, parameters, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`cronlease ${command} ended with exit code ${status}: ${stderr}`);
  return `${stderr}${stdout}`;
}

function report(ref, file) {
  const functionTimeoutMs = functionTimeout({}, path.join(import.meta.dirname, '..'));
  let warnings;
  try {
    ({ warnings } = loadJobs(path.resolve(file), { functionTimeoutMs, handlers, now: Date.now(), clockChanges: true }));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const count = error.count === 1 ? 'an error' : `${error.count} errors`;
    const errors = verbatim(error.errors.map(formatIssue).join('\n'));
    return { ok: false, text: `### jobs.json is not valid\n\n${count}:\n\n${errors}` };
  }
  const parts = [
    '### Jobs',
    verbatim(cronlease('plan', ref, file, '--limit', String(MOST_JOBS))),
    '### Costs',
    verbatim(cronlease('cost', ref, file)),
  ];
  if (warnings.length > 0) parts.push('### Warnings', verbatim(warnings.map(formatIssue).join('\n')));
  return { ok: true, text: parts.join('\n\n') };
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { file: { type: 'string', default: 'jobs.json' }, help: { type: 'boolean', default: false } },
});
const [ref] = positionals;
if (values.help) console.log(USAGE);
else if (ref === undefined || positionals.length !== 1) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  const { ok, text } = report(ref, values.file);
  console.log(text);
  process.exitCode = ok ? 0 : 1;
}
