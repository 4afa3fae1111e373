import { ScheduleError } from '../core/schedule/schedule-error';
import { zoneOf } from '../core/schedule/zone';
import { type ClockRule, scheduled } from './clock-policy';
import { type Dialect, MACROS, readFields } from './cron-field';
import { type CronValues, type Days, inBoth, inEither, inMonth, inWeek } from './cron-text';
import { commandOf, isInterpreter, isWordOfShell, nameOfCommand } from './crontab-command';
import { type Finds, type Found, findsIn, type SourceOptions } from './draft';

const CRONTAB: Dialect = { all: '*', openStep: 'refuse', backwards: 'refuse', weekdays: { least: 0, most: 7 } };

export interface CrontabOptions extends SourceOptions {
  /** Whether each entry names a user before its command, as in /etc/crontab. */
  readonly userColumn: boolean;
}

const ENVIRONMENT = /^(["']?)(\w+)\1\s*=\s*(.*)$/;
/** A comment that is an entry switched off describes nothing. */
const ENTRY_IN_COMMENT = /^(@\w+\s|[-*\d][\d*,/-]*(\s+[\w*,/-]+){4}\s+\S)/;
/** The last line of the comment with which the crontabs of Debian, Alpine and the BSDs begin. */
const FIELD_NAMES = /\bdom\b.*\bdow\b|\bmin(?:ute)?\s+hour\s+m?day\s+month\b/i;

/** A line about the whole file, as packages and tools write it. */
const HEADER =
  /^\/etc\/cron|\bcron(?:tab|\.d)?\s+(?:entries|fragment|file|job file)\b|\bdo not edit\b|\b(?:managed|generated|installed) by\b|\bcopyright\b|\blicen[cs]e|^\$Id|^-\*-|^vim:/i;
/** Items of a field: values and names of weekdays, such as `MON-FRI`, `5#3`, `2030` or `*\/2`. */
const VALUE = '(?:[*?]|\\d+|(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?)(?:day)?)(?:#\\d|L)?';
/** A sixth word that can be no command: the line has seconds, or a year. */
const FIELD_MORE = new RegExp(String.raw`^(?:\S+\s+){5}(?<sixth>${VALUE}(?:[-,/]${VALUE})*)(?:\s|$)`, 'i');
/** Users that systems have, and that are not programs. */
const USER = /^(?:root|daemon|nobody|www-data|apache|nginx|ubuntu|debian|ec2-user)$/;
/** A word with which a command begins, and which is hardly an argument of another. */
const PROGRAM = /^(?:\/\S+\/s?bin\/\S+|\/\S+\.(?:sh|bash|py|pl|php|rb|m?js)|\[|cd)$/;

/** Whether the entries of a file name users, as its heading or its entries tell. */
export function hasUserColumn(text: string): boolean {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  if (lines.some((line) => line.startsWith('#') && /\b(?:dow|w(?:eek)?day)\s+(?:user(?:-name)?|who)\b/i.test(line)))
    return true;
  const entries = lines.filter((line) => /^-?[\d*@]/.test(line) && !line.startsWith('@reboot'));
  const begins = entries.map((line) => {
    const [user = '', program = '-'] = line.split(/\s+/).slice(line.startsWith('@') ? 1 : 5);
    return { user, program };
  });
  const areUsers = begins.every(({ user, program }) => /^[a-z_][\w.-]*$/i.test(user) && !program.startsWith('-'));
  if (begins.length === 0 || !areUsers) return false;
  const areNoPrograms = begins.every(
    ({ user, program }) => !isWordOfShell(user) && (PROGRAM.test(program) || isInterpreter(program)),
  );
  return areNoPrograms || begins.some(({ user }) => USER.test(user));
}

/** The state that passes from line to line. */
interface Reading {
  readonly finds: Finds;
  readonly options: CrontabOptions;
  /** Of `CRON_TZ`: it holds for the entries after it. */
  cronZone: string | undefined;
  comments: string[];
}

/** Reads a crontab by the rules of Vixie cron and of cronie, its continuation. */
export function readCrontab(file: string, text: string, options: CrontabOptions): Found {
  const finds = findsIn(file);
  const reading: Reading = { finds, options, cronZone: undefined, comments: [] };
  for (const [index, raw] of text.split(/\r?\n/).entries()) readLine(reading, raw.trim(), index + 1);
  return finds;
}

function readLine(reading: Reading, line: string, number: number): void {
  if (line.startsWith('#')) {
    const comment = line.replace(/^#+\s*/, '').trim();
    if (FIELD_NAMES.test(comment)) reading.comments = [];
    else if (comment !== '' && !ENTRY_IN_COMMENT.test(comment) && !HEADER.test(comment)) reading.comments.push(comment);
    return;
  }
  const { comments } = reading;
  reading.comments = [];
  if (line === '') return;
  const [variable, , name = '', value = ''] = ENVIRONMENT.exec(line) ?? [];
  if (variable !== undefined) readEnvironment(reading, number, name, value);
  else readEntry(reading, line, number, comments.join(' '));
}

function readEnvironment(reading: Reading, number: number, name: string, value: string): void {
  if (name === 'CRON_TZ') {
    const zone = value.replace(/^(["'])(.*)\1$/, '$2').trim();
    reading.cronZone = zone === '' ? undefined : zone;
    return;
  }
  const { why, remedy } = ABOUT_ENVIRONMENT.get(name) ?? {
    why: 'it sets an environment variable of the commands',
    remedy: 'Set an app setting of this name if a handler reads it.',
  };
  reading.finds.note(number, name, why, remedy);
}

function isZone(name: string): boolean {
  try {
    zoneOf(name);
    return true;
  } catch (error) {
    if (error instanceof ScheduleError) return false;
    throw error;
  }
}

const ABOUT_ENVIRONMENT = new Map(
  Object.entries({
    MAILTO: {
      why: 'the output of a job is not mailed: its log is kept in the ledger',
      remedy: 'Set "alertAfter" for jobs whose failures you must know about.',
    },
    SHELL: { why: 'a handler is a function, and no shell runs it', remedy: 'Nothing needs to be done.' },
    TZ: {
      why: 'cron passes it to the commands, but it does not affect the schedule',
      remedy: 'Handlers that print local times need the zone in their input.',
    },
    RANDOM_DELAY: {
      why: 'each run started at a random time of this span',
      remedy: 'Set "spread" for a fixed offset of each job, or leave it.',
    },
  }),
);

function readEntry(reading: Reading, line: string, number: number, comment: string): void {
  const { finds, options } = reading;
  const { sixth } = FIELD_MORE.exec(line)?.groups ?? {};
  // Where entries name a user, a plain name is one.
  if (sixth !== undefined && !line.startsWith('@') && !(options.userColumn && /^[a-z]+$/i.test(sixth))) {
    const why =
      'it has more than five fields before its command: some programs read seconds first (Ofelia), others a year last (supercronic)';
    finds.leaveOut(number, line, why, 'Write the schedule by hand: a job may have 6 fields with seconds first.');
    return;
  }
  const entry = split(line, options.userColumn);
  if (entry === undefined) {
    const wanted = options.userColumn ? 'five fields, a user and a command' : 'five fields and a command';
    finds.leaveOut(number, line, `it is not an entry, which needs ${wanted}`, 'Correct it, or remove it.');
    return;
  }
  const { when, user } = entry;
  const cron = when.startsWith('@') ? MACROS.get(when) : when;
  if (when === '@reboot') {
    const why = 'a start of the app is not a due time: apps start when they scale, and when they are deployed';
    finds.leaveOut(number, line, why, 'Do this work where the app starts, or run it with "cronlease run".');
    return;
  }
  if (cron === undefined) {
    finds.leaveOut(number, line, `${when} is unknown`, `Write five fields, or ${[...MACROS.keys()].join(', ')}.`);
    return;
  }
  if (!isZone(reading.cronZone ?? 'UTC')) {
    const why = `CRON_TZ is ${JSON.stringify(reading.cronZone)}, which is not an IANA time zone`;
    finds.leaveOut(number, line, why, 'Write its IANA name, such as "Europe/Lisbon".');
    return;
  }
  try {
    addEntry(reading, { ...entry, number, line, cron, comment });
  } catch (error) {
    finds.leaveOutFor(error, number, line, when);
    return;
  }
  if (user !== undefined && user !== 'root') {
    finds.note(number, line, `it ran as ${user}`, 'Give the identity of the function app the rights that it needs.');
  }
}

const OUR_WORDS = /^@(hourly|daily|weekly|monthly|yearly)$/;

interface Entry {
  /** As written: five fields, or a word such as `@daily`. */
  readonly when: string;
  readonly user: string | undefined;
  readonly command: string;
}

interface Placed extends Entry {
  readonly number: number;
  readonly line: string;
  readonly cron: string;
  readonly comment: string;
}

function addEntry(reading: Reading, { number, line, when, cron, command, comment }: Placed): void {
  const { finds, options, cronZone } = reading;
  const { values, isWild } = readCrontabFields(cron);
  // With CRON_TZ, cronie compares every minute with a clock of that zone, and mends no gap.
  const rule: ClockRule = cronZone !== undefined || isWild ? 'eachTime' : 'afterGap';
  const timeZone = cronZone ?? options.timeZone;
  const { differs, schedule, ...rest } = scheduled({ values, written: cron, timeZone, rule }, options.now);
  const { shown, input } = commandOf(command);
  finds.add(number, nameOfCommand(shown), {
    // A word of the crontab that is one of ours too stays.
    schedule: OUR_WORDS.test(when) && schedule === cron ? when : schedule,
    ...rest,
    description: comment === '' ? shown : comment,
  });
  if (differs !== undefined)
    finds.note(number, line, differs, 'Move the job out of the hour that the clocks skip, if this matters.');
  if (input !== undefined) {
    const why = 'the text after the first % was the standard input of the command';
    finds.note(number, line.split(/(?<!\\)%/, 1)[0] ?? '', why, 'Let the handler use it: the file has it.');
  }
}

function split(line: string, userColumn: boolean): Entry | undefined {
  // A leading "-" keeps cronie from logging the start.
  const text = line.replace(/^-(?=[\d*@])/, '');
  const fields = text.startsWith('@') ? 1 : 5;
  const pattern = new RegExp(String.raw`^((?:\S+\s+){${fields}})${userColumn ? String.raw`(\S+)\s+` : '()'}(\S.*)$`);
  const [, when, user, command] = pattern.exec(text) ?? [];
  if (when === undefined || command === undefined) return undefined;
  const words = when.trim().replaceAll(/\s+/g, ' ');
  return { when: fields === 1 ? words.toLowerCase() : words, user: userColumn ? user : undefined, command };
}

/**
 * Reads the five fields of a crontab entry, as Vixie cron does.
 *
 * `isWild`: whether cron follows elapsed time. It does if the minute or the hour begins with `*`.
 *
 * @throws ScheduleError
 */
function readCrontabFields(text: string): { readonly values: CronValues; readonly isWild: boolean } {
  const fields = text.split(/\s+/);
  const random = fields.find((field) => field.includes('~'));
  if (random !== undefined) {
    const remedy = 'use a value, and set "spread" to keep jobs apart';
    throw new ScheduleError(`has "${random}", a random value of each start of cron`, remedy);
  }
  const [seconds = [], minutes = [], hours = [], month = [], months = [], weekdays = []] = readFields(
    ['0', ...fields],
    CRONTAB,
  );
  const [minute = '', hour = '', dayText = '', , weekdayText = ''] = fields;
  const week = [...new Set(weekdays.map((day) => day % 7))].sort((a, b) => a - b);
  return {
    values: { seconds, minutes, hours, months, days: daysOf(dayText, month, weekdayText, week) },
    isWild: minute.startsWith('*') || hour.startsWith('*'),
  };
}

/** A field that begins with `*` narrows the other one, also with a step; two other fields add to each other. */
function daysOf(dayText: string, month: readonly number[], weekdayText: string, week: readonly number[]): Days {
  if (!dayText.startsWith('*') && !weekdayText.startsWith('*')) return inEither(month, week);
  if (weekdayText === '*') return inMonth(month);
  return dayText === '*' ? inWeek(week) : inBoth(month, week);
}
