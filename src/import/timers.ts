import path from 'node:path';
import JSON5 from 'json5';
import type { Millis } from '../core/brand';
import { formatDuration, parseTimeSpan } from '../core/duration';
import { ScheduleError } from '../core/schedule/schedule-error';
import { isObject } from '../core/metadata';
import type { JobInFile } from '../config/job-in-file';
import { ncrontabFields } from './cron-field';
import { inBoth } from './cron-text';
import { type Finds, type Found, ImportError, findsIn, type SourceOptions } from './draft';
import { timersInAttributes, timersInPython } from './timer-attributes';
import { scheduledTimer } from './timer-clock';
import { FromSetting, type TimerFind, timersInCode } from './timer-code';

export interface TimerOptions extends SourceOptions {
  /** The app settings, by name; undefined: unknown. */
  readonly settings: ReadonlyMap<string, string> | undefined;
}

/** The files that may have timers. Declarations of types have none. */
export const TIMER_FILE = /(?:^function\.json|(?<!\.d)\.(?:[cm]?[jt]s|[jt]sx|py|cs|fs|java|kt))$/;

/** Reads the timer triggers of a `function.json`, or of a source in one of the languages of Functions. */
export function readTimers(file: string, text: string, options: TimerOptions): Found {
  const finds = findsIn(file);
  if (file.endsWith('.json')) readFunctionJson(finds, file, text, options);
  else for (const find of timersIn(file, text)) addFound(finds, find, options);
  return finds;
}

/**
 * Reads a file that was found in a folder, which may have other files than sources of an app. Of one that cannot be
 * read, only its timers are missing.
 */
export function orLeftOut(file: string, text: string, read: (file: string, text: string) => Found): Found {
  try {
    return read(file, text);
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    const finds = findsIn(file);
    if (LOOKS_LIKE_TIMER.test(text))
      finds.leaveOut(error.place.line, 'its timers', error.reason, 'Correct the file, or write the job by hand.');
    return finds;
  }
}

function timersIn(file: string, text: string): readonly TimerFind[] {
  switch (path.extname(file)) {
    case '.py':
      return timersInPython(text);
    case '.cs':
    case '.fs':
    case '.java':
    case '.kt':
      return timersInAttributes(text);
    case '.tsx':
    case '.jsx':
      return timersBesideMarkup(file, text);
    default:
      return timersInCode(file, text);
  }
}

export const LOOKS_LIKE_TIMER = /\.timer\s*\(|\btimerTrigger\b/i;

/** Markup cannot be parsed here. Without any, the file is read as one of its language. */
function timersBesideMarkup(file: string, text: string): readonly TimerFind[] {
  try {
    return timersInCode(file, text);
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    const lines = text.split('\n').map((line, index) => ({ line: index + 1, what: line.trim() }));
    const looks = lines.filter(({ what }) => LOOKS_LIKE_TIMER.test(what));
    return looks.map((place) => ({ kind: 'unread', ...place, why: 'the file has markup (JSX), which is not read' }));
  }
}

function addFound(finds: Finds, find: TimerFind, options: TimerOptions): void {
  const { line } = find;
  if (find.kind === 'unread') {
    finds.leaveOut(line, find.what, find.why, 'Write the job by hand if it is a timer.');
    return;
  }
  const { name, options: members, takenFor } = find;
  if (typeof name !== 'string') leaveOutComputed(finds, line, 'a timer', 'its name');
  else if (members === undefined) leaveOutComputed(finds, line, name, 'an option of it');
  else {
    if (takenFor !== undefined) {
      const why = `this file does not import it from @azure/functions, so ${takenFor} is taken for its app by the name`;
      finds.note(line, `${name}: ${takenFor}`, why, 'Delete the job if it is another object.');
    }
    addTimer(finds, { line, name, members }, options);
  }
}

interface Timer {
  readonly line: number;
  readonly name: string;
  readonly members: ReadonlyMap<string, unknown>;
}

function leaveOutComputed(finds: Finds, line: number, what: string, part: string): void {
  const why = `${part} is computed, so only a run of the program shows it`;
  finds.leaveOut(line, what, why, 'Write the job by hand.');
}

function readFunctionJson(finds: Finds, file: string, text: string, options: TimerOptions): void {
  const value = jsonOf(file, text);
  const bindings = isObject(value) && Array.isArray(value['bindings']) ? value['bindings'].filter(isObject) : undefined;
  if (!isObject(value) || bindings === undefined) {
    throw new ImportError({ file, line: 1 }, 'this is not a function.json, because it has no "bindings"');
  }
  const trigger = bindings.find(({ type }) => typeof type === 'string' && type.toLowerCase() === 'timertrigger');
  if (trigger === undefined) return;
  const name = path.basename(path.dirname(path.resolve(file)));
  const line = text.slice(0, Math.max(0, text.search(/["']timerTrigger["']/i))).split('\n').length;
  const { retry, disabled } = value;
  const members = new Map(Object.entries({ ...trigger, ...(retry !== undefined && { retry }), disabled }));
  const others = bindings.filter((binding) => binding !== trigger).map((binding) => String(binding['type']));
  if (others.length > 0) noteBindings(finds, line, name, others.join(', '));
  addTimer(finds, { line, name, members }, options);
}

/** As the host reads it: with comments. */
function jsonOf(file: string, text: string): unknown {
  try {
    return JSON5.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const { lineNumber = 1 } = error as SyntaxError & { readonly lineNumber?: number };
    throw new ImportError({ file, line: lineNumber }, `this is not JSON: ${error.message}`, { cause: error });
  }
}

function noteBindings(finds: Finds, line: number, name: string, what: string): void {
  finds.note(line, `${name}: ${what}`, 'a job has no bindings', 'Call the SDK of that service in the handler.');
}

function addTimer(finds: Finds, timer: Timer, options: TimerOptions): void {
  const { line, name, members } = timer;
  const text = scheduleText(finds, timer, options);
  if (text === undefined) return;
  try {
    const timing = timingOf(finds, timer, text, options);
    const enabled = members.get('disabled') === true ? { enabled: false } : {};
    const catchUp = members.get('useMonitor') === false ? { catchUp: 'none' as const } : {};
    finds.add(line, name, { ...timing, ...catchUp, ...retryOf(finds, timer), ...enabled });
  } catch (error) {
    finds.leaveOutFor(error, line, `${name}: ${text}`, 'the schedule');
    return;
  }
  if (members.get('runOnStartup') === true) {
    const why = 'a start of the app is not a due time: apps start when they scale, and when they are deployed';
    const remedy = 'Run it once with "cronlease run" after a deployment, if it must run then.';
    finds.note(line, `${name}: runOnStartup`, why, remedy);
  }
  const bindings = [...members.keys()].filter((key) => /^(extraInputs|extraOutputs|return)$/.test(key));
  if (bindings.length > 0) noteBindings(finds, line, name, bindings.join(', '));
  if (typeof members.get('disabled') === 'string') {
    const why = 'an app setting decides whether the function is disabled';
    finds.note(line, `${name}: disabled`, why, 'Set "enabled", or use "cronlease pause".');
  }
}

/** The schedule as text; undefined after a note that it is not known. */
function scheduleText(finds: Finds, { line, name, members }: Timer, { settings }: TimerOptions): string | undefined {
  const value = members.get('schedule');
  const setting = settingOf(value);
  if (setting === undefined) {
    if (typeof value === 'string') return value;
    if (value === undefined) finds.leaveOut(line, name, 'it has no schedule', 'Write the job by hand.');
    else leaveOutComputed(finds, line, name, 'its schedule');
    return undefined;
  }
  const given = settings?.get(setting.name);
  const found = given ?? setting.fallback;
  if (typeof found !== 'string') {
    const why = `its schedule is the app setting ${setting.name}, which is not known here`;
    finds.leaveOut(line, name, why, 'Name a file that has it: --settings local.settings.json.');
    return undefined;
  }
  const origin = given === undefined ? 'the default in the code' : 'the value in the settings file';
  const why = `a jobs file contains no app settings, so it has ${origin}: ${JSON.stringify(found)}`;
  finds.note(line, `${name}: app setting ${setting.name}`, why, 'Compare it with the setting of the app on Azure.');
  return found;
}

function settingOf(value: unknown): FromSetting | undefined {
  if (value instanceof FromSetting) return value;
  const name = typeof value === 'string' ? /^%([^%]+)%$/.exec(value)?.[1] : undefined;
  return name === undefined ? undefined : new FromSetting(name, undefined);
}

function timingOf(
  finds: Finds,
  { line, name }: Timer,
  text: string,
  { now, timeZone }: TimerOptions,
): Pick<JobInFile, 'schedule' | 'timeZone' | 'dst'> {
  const period = parseTimeSpan(text.trim());
  if (period !== undefined) {
    if (period === 0 || period % 1_000 !== 0) {
      throw new ScheduleError(`has a period of ${formatDuration(period)}`, 'must be whole seconds, and at least 1 s');
    }
    const why = `the timer counts ${text} from the start of the app and from the end of a long run, the job from 1970`;
    finds.note(line, `${name}: ${text}`, why, 'Check the first due times: cronlease next.');
    return { schedule: `@every ${formatDuration(period)}` };
  }
  const [seconds = [], minutes = [], hours = [], month = [], months = [], week = []] = ncrontabFields(text);
  // Both day fields must match.
  const values = { seconds, minutes, hours, months, days: inBoth(month, week) };
  const { differs, ...timing } = scheduledTimer({ values, written: text, timeZone }, now);
  if (differs !== undefined) {
    const remedy = 'Move the job out of the hour that the clocks skip, if this matters.';
    finds.note(line, `${name}: ${text}`, differs, remedy);
  }
  return timing;
}

function retryOf(finds: Finds, { line, name, members }: Timer): Pick<JobInFile, 'retry'> {
  const given = members.get('retry');
  if (given === undefined) return {};
  const policy = given instanceof Map ? given : new Map(isObject(given) ? Object.entries(given) : []);
  const [count, delay] = [policy.get('maxRetryCount'), durationOf(policy.get('delayInterval'))];
  const [least, most] = [durationOf(policy.get('minimumInterval')), durationOf(policy.get('maximumInterval'))];
  const attempts = typeof count === 'number' && count >= 0 ? count + 1 : undefined;
  if (attempts !== undefined && policy.get('strategy') === 'fixedDelay' && delay !== undefined) {
    const wait = formatDuration(delay);
    return { retry: { attempts, backoff: wait, factor: 1, maxBackoff: wait, jitter: 'none' } };
  }
  if (
    attempts !== undefined &&
    policy.get('strategy') === 'exponentialBackoff' &&
    least !== undefined &&
    most !== undefined
  ) {
    const why = 'the host chooses its waits at random between the two intervals, the job doubles them';
    finds.note(line, `${name}: retry`, why, 'Check "retry" of the job.');
    return { retry: { attempts, backoff: formatDuration(least), maxBackoff: formatDuration(Math.max(least, most)) } };
  }
  const why = 'a jobs file cannot express its retry policy, so the job has the default of 3 attempts';
  finds.note(line, `${name}: retry`, why, 'Set "retry" of the job.');
  return {};
}

const UNIT_MS: ReadonlyMap<string, Millis> = new Map([
  ['milliseconds', 1],
  ['seconds', 1000],
  ['minutes', 60_000],
  ['hours', 3_600_000],
]);

/** A wait of a retry policy in whole seconds: a time span, milliseconds, or an object of units. */
function durationOf(value: unknown): Millis | undefined {
  const given = typeof value === 'string' ? parseTimeSpan(value.trim()) : value;
  const ms = given instanceof Map ? sumOf(given) : given;
  return typeof ms === 'number' && ms >= 0 && ms % 1000 === 0 ? ms : undefined;
}

function sumOf(units: ReadonlyMap<unknown, unknown>): number {
  return [...units].reduce((sum, [unit, count]) => {
    const ms = UNIT_MS.get(String(unit));
    return ms === undefined || typeof count !== 'number' ? NaN : sum + ms * count;
  }, 0);
}

/**
 * Notes on the timers of built files that none of the sources has: those were left out, or are elsewhere.
 *
 * @param found of the sources
 * @param read reads a built file as if it were a source
 */
export function noteOnBuilt(
  built: readonly { readonly file: string; readonly text: string }[],
  found: readonly Found[],
  read: (file: string, text: string) => Found,
): Found['notes'] {
  const known = new Set(
    found.flatMap(({ drafts, notes }) => [...drafts.map(({ name }) => name), ...notes.map(({ what }) => what)]),
  );
  return built.flatMap(({ file, text }) => {
    const finds = findsIn(file);
    const missing = new Map(timersOf(file, text, read).filter(([name]) => !known.has(name)));
    const [line = 1] = missing.values();
    if (missing.size > 0) {
      const why = 'a build made this file, and no source that was read has it';
      const remedy = `Name the folder of its source, or this file: cronlease import timers ${file}`;
      finds.leaveOut(line, [...missing.keys()].join(', '), why, remedy);
    }
    return finds.notes;
  });
}

function timersOf(
  file: string,
  text: string,
  read: (file: string, text: string) => Found,
): readonly (readonly [name: string, line: number])[] {
  try {
    const { drafts, notes } = read(file, text);
    const leftOut = notes.filter((note) => note.leftOut).map(({ what, line }) => [what, line] as const);
    return [...drafts.map(({ name, line }) => [name, line] as const), ...leftOut];
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    return LOOKS_LIKE_TIMER.test(text) ? [['a timer', 1]] : [];
  }
}
