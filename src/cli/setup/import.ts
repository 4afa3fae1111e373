import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import JSON5 from 'json5';
import { isObject, parsedJson } from '../../core/metadata';
import { windowsZone } from '../../config/windows-zones';
import { ScheduleError } from '../../core/schedule/schedule-error';
import { zoneOf } from '../../core/schedule/zone';
import { functionTimeout } from '../../functions/settings';
import { type Found, ImportError, type Note } from '../../import/draft';
import {
  type Format,
  type Imported,
  type JobsDocument,
  jobsDocument,
  noteOnRuns,
  noteOnZone,
} from '../../import/jobs-document';
import { type Column, fittedTable, folded } from '../fit';
import { appFolderOf } from '../jobs-file';
import { CliError, NO, OK, print, printError, printJson, say, style, UsageError } from '../output';
import { counted } from '../../core/text';

interface ImportOptions {
  readonly out?: string;
  readonly force?: boolean;
  readonly timeZone?: string;
  readonly system?: boolean;
  readonly settings?: string;
  readonly json?: boolean;
}

/** `cronlease import`: makes a jobs file of another scheduler's files, with notes on all that it does not carry. */
export async function importJobs(format: Format, sources: readonly string[], options: ImportOptions): Promise<number> {
  const { out, json } = options;
  checkOptions(format, options);
  const revision = out === undefined ? 1 : nextRevision(out, options.force === true);
  const found = await readAll(format, sources, options);
  const imported = jobsDocument(found, {
    revision,
    functionTimeoutMs: functionTimeout(process.env, appFolderOf(out ?? 'jobs.json')),
  });
  if (imported.jobs.length === 0) {
    const error = new CliError('NothingImported', `no job could be made of ${sources.join(', ')}`);
    if (!json) {
      say(importReport(imported, sources, undefined).join('\n'));
      throw error;
    }
    // One document: the reasons are the answer.
    printJson({ error: { code: error.code, message: error.message }, ...documentOf(imported) });
    printError(error.message);
    return NO;
  }
  if (out !== undefined) writeFileSync(out, `${JSON.stringify(imported.document, null, 2)}\n`);
  if (json) printJson(documentOf(imported));
  else if (out === undefined) print(JSON.stringify(imported.document, null, 2));
  if (!json) say(importReport(imported, sources, out).join('\n'));
  return OK;
}

function documentOf({ document, jobs, notes }: Imported): object {
  return {
    jobsFile: document satisfies JobsDocument,
    handlers: handledJobs(jobs).map(({ job, name, file, line }) => ({ handler: job, name, file, line })),
    notes,
  };
}

/** A call needs no handler. */
function handledJobs(jobs: Imported['jobs']): Imported['jobs'] {
  return jobs.filter(({ settings }) => settings.call === undefined);
}

function checkOptions(format: Format, { system, settings, timeZone, out, force }: ImportOptions): void {
  if (system && format !== 'crontab') throw new UsageError('--system is for crontab');
  if (settings !== undefined && format !== 'timers') throw new UsageError('--settings is for timers');
  if (force && out === undefined) throw new UsageError('--force needs --out, which it lets replace a file');
  if (timeZone !== undefined) checkZone((format === 'timers' && windowsZone(timeZone)) || timeZone, '--time-zone');
}

function checkZone(name: string, where: string): void {
  try {
    zoneOf(name);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    throw new UsageError(`${where} ${JSON.stringify(name)} ${error.message}: ${error.remedy}`);
  }
}

/** The revision of the new file: a deployment with a lower one than before would never claim. */
function nextRevision(out: string, force: boolean): number {
  if (!existsSync(out)) return 1;
  if (!force)
    throw new CliError('FileExists', `${out} exists already: name another file, or add --force to replace it`);
  const before = parsedJson(readFileSync(out, 'utf8'));
  const revision = isObject(before) ? before['revision'] : undefined;
  return typeof revision === 'number' && Number.isSafeInteger(revision) ? revision + 1 : 1;
}

async function readAll(format: Format, sources: readonly string[], options: ImportOptions): Promise<readonly Found[]> {
  const listed = await Promise.all(sources.map((source) => filesOf(format, source)));
  const built = listed.flatMap((one) => one.built.map((file) => ({ file, text: readFileSync(file, 'utf8') })));
  const read = await readerOf(format, options, sources);
  const { noteOnBuilt, orLeftOut } = await import('../../import/timers.js');
  const found = listed
    .flatMap(({ own }) => own)
    .map((file) => {
      const isNamed = sources.includes(file);
      const text = textOf(file, isNamed);
      const { drafts, notes } = isNamed ? read(file, text) : orLeftOut(file, text, read);
      const onZone = options.timeZone === undefined ? noteOnZone(file, format, { drafts, notes }) : [];
      return { drafts, notes: [...onZone, ...notes] };
    });
  const notes = [...noteOnRuns(format, found), ...noteOnBuilt(built, found, read)];
  return [{ drafts: [], notes }, ...found];
}

type Reader = (file: string, text: string) => Found;

async function readerOf(format: Format, options: ImportOptions, sources: readonly string[]): Promise<Reader> {
  const now = Date.now();
  const timeZone = options.timeZone ?? 'UTC';
  switch (format) {
    case 'crontab': {
      const { hasUserColumn, readCrontab } = await import('../../import/crontab.js');
      const { isOfelia, readOfelia } = await import('../../import/ofelia.js');
      const isSystem = (file: string, text: string): boolean =>
        options.system === true || OF_SYSTEM.test(path.resolve(file)) || hasUserColumn(text);
      return (file, text) =>
        isOfelia(text)
          ? readOfelia(file, text, { now, timeZone })
          : readCrontab(file, text, { now, timeZone, userColumn: isSystem(file, text) });
    }
    case 'k8s': {
      const { readK8s } = await import('../../import/k8s.js');
      return (file, text) => readK8s(file, text, { now, timeZone });
    }
    case 'quartz': {
      const { readQuartzFile } = await import('../../import/quartz.js');
      return (file, text) => readQuartzFile(file, text, { now, timeZone });
    }
    case 'timers': {
      const { readTimers } = await import('../../import/timers.js');
      const settings = settingsOf(options.settings ?? settingsBeside(sources));
      const named = options.timeZone ?? settings?.get('WEBSITE_TIME_ZONE') ?? 'UTC';
      // It is a name of Windows too.
      const zone = named === 'UTC' ? named : (windowsZone(named) ?? named);
      checkZone(zone, 'WEBSITE_TIME_ZONE');
      return (file, text) => readTimers(file, text, { now, timeZone: zone, settings });
    }
  }
}

/** Files whose place tells that their entries name users. */
const OF_SYSTEM = /^\/etc\/(crontab$|cron\.d\/)/;

function settingsBeside(sources: readonly string[]): string | undefined {
  return sources.map((source) => path.join(source, 'local.settings.json')).find((file) => existsSync(file));
}

function settingsOf(file: string | undefined): ReadonlyMap<string, string> | undefined {
  if (file === undefined) return undefined;
  let content: unknown;
  try {
    content = JSON5.parse(textOf(file).replace(/^\ufeff/, ''));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ImportError({ file, line: 1 }, `this is not JSON: ${error.message}`, { cause: error });
  }
  const values = isObject(content) && isObject(content['Values']) ? content['Values'] : {};
  return new Map(Object.entries(values).map(([name, value]) => [name, String(value)]));
}

const SKIPPED = new Set(['node_modules', 'venv', 'site-packages', '__pycache__']);
/** Folders into which builds write. Those of .NET get a function.json of each function. */
const BUILT = new Set(['dist', 'out', 'build']);
const BUILT_BY_NET = new Set(['bin', 'obj']);

/** A file itself; of a folder, the files of its format, apart from those that were built of them or of sources elsewhere. */
async function filesOf(format: Format, source: string) {
  if (!existsSync(source) || !statSync(source).isDirectory()) return { own: [source], built: [] };
  if (format !== 'timers') throw new UsageError(`${source} is a folder: name its files`);
  const { TIMER_FILE } = await import('../../import/timers.js');
  const own: string[] = [];
  const built: string[] = [];
  const list = (folder: string, into: string[]): void => {
    const entries = readdirSync(folder, { withFileTypes: true });
    const isProject = entries.some(({ name }) => /\.(cs|fs)proj$/.test(name));
    for (const entry of entries) {
      const { name } = entry;
      const inner = path.join(folder, name);
      if (SKIPPED.has(name) || name.startsWith('.')) continue;
      const isBuilt = BUILT.has(name) || (isProject && BUILT_BY_NET.has(name));
      if (entry.isDirectory()) list(inner, isBuilt ? built : into);
      else if (TIMER_FILE.test(name)) into.push(inner);
    }
  };
  list(source, own);
  return { own, built };
}

/** @param isNamed a source that a folder has may be in a code page: its schedules are ASCII */
function textOf(file: string, isNamed = true): string {
  try {
    const bytes = readFileSync(file === '-' ? 0 : file);
    try {
      return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
    } catch (error) {
      if (isNamed) throw error;
      return new TextDecoder('windows-1252').decode(bytes);
    }
  } catch (error) {
    if (error instanceof TypeError) throw new CliError('NoSource', `${file} is not text in UTF-8`, { cause: error });
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw new CliError('NoSource', `${file} cannot be read: ${error.message}`, { cause: error });
  }
}

/** Visual Studio, and a redirection in Windows PowerShell, write UTF-16 with a byte order mark. */
function encodingOf([first, second]: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
}

/** What a person reads after an import: the notes, those on things left out first, the handlers, and what comes next. */
function importReport({ jobs, notes }: Imported, sources: readonly string[], out: string | undefined): string[] {
  const lines: string[] = [];
  const leftOut = notes.filter((note) => note.leftOut);
  const others = notes.filter((note) => !note.leftOut);
  if (leftOut.length > 0)
    lines.push(style('bold', `Left out: ${leftOut.length}`, process.stderr), ...listOf(leftOut), '');
  if (others.length > 0) lines.push(style('bold', 'Not the same', process.stderr), ...listOf(others), '');
  if (jobs.length === 0) return lines;
  const handled = handledJobs(jobs);
  const isRenamed = handled.some(({ job, name }) => job !== name);
  const columns: readonly Column<(typeof handled)[number]>[] = [
    ['HANDLER', ({ job }) => job],
    ['SOURCE NAME', ({ name }) => (isRenamed ? name : '')],
    ['FROM', ({ file, line }) => `${file}:${line}`],
  ];
  const table = fittedTable(handled, columns, [], Infinity);
  if (handled.length > 0) lines.push(style('bold', 'Handlers to write', process.stderr), ...table, '');
  const written = out === undefined ? '' : `, in ${out}`;
  lines.push(`${counted(jobs.length, 'job')} from ${sources.join(', ')}${written}.`);
  const file = out === undefined || out === 'jobs.json' ? '' : ` --file ${out}`;
  const next = `Next: run "cronlease validate${file}", and compare "cronlease next${file}" with the due times of the old scheduler.`;
  return [...lines, ...linesOf(next)];
}

/** Notes with the same text are one, with all their places. */
function listOf(notes: readonly Note[]): readonly string[] {
  const groups = Map.groupBy(notes, ({ file, why, remedy }) => JSON.stringify([file, why, remedy]));
  return [...groups.values()].flatMap((group) => [
    ...group.flatMap(({ file, line, what }) => linesOf(`${file}:${line}: ${what}`, 4)),
    ...group.slice(0, 1).flatMap(({ why, remedy }) => [...linesOf(`  ${why}.`), ...linesOf(`  ${remedy}`)]),
  ]);
}

/** A text in lines: where words are apart, one space is enough. */
function linesOf(text: string, indent?: number): readonly string[] {
  return folded(text.replaceAll(/(?<=\S)\s+/g, ' '), indent);
}
