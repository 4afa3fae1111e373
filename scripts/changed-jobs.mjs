// Prints the differences between two versions of a jobs file as Markdown for a pull request: see USAGE.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';

const USAGE = `node scripts/changed-jobs.mjs BASE HEAD [--from TIME]

Prints, as Markdown, the jobs that HEAD adds, changes and removes, each with its next five due times. If HEAD is not
valid, prints its errors instead, with exit code 1. Needs "npm run build". BASE may be missing.

  --from TIME   due times after this (default: now)`;

const DUE_TIMES = 5;
/** A comment holds 65,536 characters: https://docs.github.com/rest/issues/comments */
const MOST_JOBS = 100;

const load = createRequire(path.join(import.meta.dirname, '../dist/lib/index.js'));
const { loadJobs } = load('./config/load.js');
const { ConfigError, formatIssue } = load('./config/config-error.js');
const { functionTimeout } = load('./functions/settings.js');
const { handlers } = load('./jobs/index.js');
const { actualTime } = load('./core/job.js');
const { bothTimes, utc } = load('./cli/time.js');

/** Fences the text with more backticks than it has in a row, so that Markdown has no effect in it. */
function verbatim(lines) {
  const text = lines.join('\n');
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}`;
}

/** The settings in the file, by job; undefined if the file is missing, or is no jobs file. */
function settingsIn(file) {
  if (!existsSync(file)) return undefined;
  try {
    const { jobs } = JSON.parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''));
    return new Map(Object.entries(jobs));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
    return undefined;
  }
}

function differences(base, head) {
  const names = [...new Set([...base.keys(), ...head.keys()])].toSorted((a, b) => (a < b ? -1 : 1));
  return names.flatMap((job) => {
    const [before, after] = [base.get(job), head.get(job)];
    if (after === undefined) return [{ job, change: 'removed', settings: [] }];
    if (before === undefined) return [{ job, change: 'added', settings: [] }];
    const members = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after)])];
    const settings = members.filter((member) => !isDeepStrictEqual(before?.[member], after[member]));
    return settings.length === 0 ? [] : [{ job, change: 'changed', settings }];
  });
}

function dueTimes(spec, from) {
  const { kind, enabled, timetable, timeZone } = spec;
  if (kind === 'always') return ['no due times: a leader job runs all the time'];
  if (kind === 'manual') return ['no due times: it runs on request only'];
  const times = [];
  for (let due = timetable.next(from); due !== undefined && times.length < DUE_TIMES; due = timetable.next(due)) {
    const at = actualTime(spec, due);
    times.push(bothTimes(utc, at, timeZone));
  }
  if (times.length === 0) return ['never due within the next 5 years'];
  return enabled ? times : ['disabled: none of these will run', ...times];
}

/** Needs no escaping: between backticks, the values that a valid file can have here mean nothing in Markdown. */
function row({ job, change, settings }, spec, from) {
  const what = settings.length === 0 ? change : `${change}: ${settings.map((name) => `\`${name}\``).join(', ')}`;
  if (spec === undefined)
    return `| \`${job}\` | ${what} | | none; \`cronlease forget ${job}\` removes what remains of it |`;
  return `| \`${job}\` | ${what} | \`${spec.schedule}\` ${spec.timeZone} | ${dueTimes(spec, from).join('<br>')} |`;
}

function report(base, head, from) {
  const functionTimeoutMs = functionTimeout({}, path.join(import.meta.dirname, '..'));
  let loaded;
  try {
    loaded = loadJobs(path.resolve(head), { functionTimeoutMs, handlers });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const count = error.errors.length === 1 ? 'an error' : `${error.errors.length} errors`;
    return { ok: false, text: `### jobs.json is not valid\n\n${count}:\n\n${verbatim(error.errors.map(formatIssue))}` };
  }
  const before = settingsIn(base);
  const changes = differences(before ?? new Map(), settingsIn(head));
  const specs = new Map(loaded.jobsFile.jobs.map((spec) => [spec.name, spec]));
  const parts = ['### Jobs'];
  if (before === undefined) parts.push('There is no jobs file to compare with: every job counts as added.');
  if (changes.length === 0) parts.push('No job is added, changed or removed.');
  else {
    const rows = changes.slice(0, MOST_JOBS).map((change) => row(change, specs.get(change.job), from));
    parts.push(['| job | change | schedule | next due times |', '| --- | --- | --- | --- |', ...rows].join('\n'));
    if (changes.length > MOST_JOBS) parts.push(`And ${changes.length - MOST_JOBS} more.`);
    parts.push('A changed schedule counts from its deployment: its past due times are not caught up.');
  }
  if (loaded.warnings.length > 0) parts.push('Warnings:', verbatim(loaded.warnings.map(formatIssue)));
  return { ok: true, text: parts.join('\n\n') };
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { from: { type: 'string' }, help: { type: 'boolean', default: false } },
});
const [base, head] = positionals;
const from = values.from === undefined ? Date.now() : Date.parse(values.from);
if (values.help) console.log(USAGE);
else if (positionals.length !== 2 || Number.isNaN(from)) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  const { ok, text } = report(base, head, from);
  console.log(text);
  process.exitCode = ok ? 0 : 1;
}
