import { SaxesParser } from 'saxes';
import type { JobInFile } from '../config/job-in-file';
import type { EpochMs, Millis } from '../core/brand';
import { formatDuration } from '../core/duration';
import { isoOf } from '../core/iso';
import { parseMoment } from '../core/schedule/moment';
import { ScheduleError } from '../core/schedule/schedule-error';
import { instantOfWall, zoneOf } from '../core/schedule/zone';
import { isSecretName, looksSecret } from '../core/redact';
import { type Finds, ImportError, type SourceOptions } from './draft';

/** A trigger of any file of Quartz. */
export interface QuartzTrigger {
  readonly line: number;
  readonly name: string;
  readonly expression: string;
  readonly timeZone?: string | undefined;
  readonly settings?: Omit<JobInFile, 'schedule'>;
}

/** Reads `job-scheduling-data`, the jobs file of Quartz's XML plug-in. Throws ImportError. */
export function readQuartzXml(
  finds: Finds,
  file: string,
  text: string,
  options: SourceOptions,
): readonly QuartzTrigger[] {
  const root = readXml(file, text);
  const schedules = childrenOf(root, 'job-scheduling-data', 'schedule');
  if (schedules.length === 0) {
    const message = 'this is not a Quartz jobs file, because it has no <schedule> in <job-scheduling-data>';
    throw new ImportError({ file, line: root.children[0]?.line ?? 1 }, message);
  }
  const jobs = schedules.flatMap((schedule) => childrenOf(schedule, 'job'));
  const triggers = schedules.flatMap((schedule) => childrenOf(schedule, 'trigger')).flatMap(({ children }) => children);
  for (const job of jobs) {
    const name = textOf(job, 'name') ?? '';
    if (triggers.some((trigger) => textOf(trigger, 'job-name') === name)) continue;
    const remedy = 'Write a job with the schedule "@manual".';
    finds.leaveOut(job.line, `job ${name}`, 'it has no trigger in this file', remedy);
  }
  return triggers.flatMap((trigger) => readTrigger(finds, trigger, jobs, options) ?? []);
}

function readTrigger(
  finds: Finds,
  trigger: Element,
  jobs: readonly Element[],
  options: SourceOptions,
): QuartzTrigger | undefined {
  const { line } = trigger;
  const jobName = textOf(trigger, 'job-name') ?? '';
  const what = `trigger ${textOf(trigger, 'name') ?? ''} of job ${jobName}`;
  const calendar = textOf(trigger, 'calendar-name');
  const job = jobs.find((one) => textOf(one, 'name') === jobName);
  const period = calendar === undefined && trigger.name === 'simple' ? periodOf(trigger) : undefined;
  if (period !== undefined) {
    const why = 'Quartz counts the period from the start of the scheduler, the job from 1970';
    finds.note(line, what, why, 'Check the first due times: cronlease next.');
  } else if (trigger.name !== 'cron') {
    const why = `it is a ${trigger.name} trigger, which counts from the start of the scheduler`;
    finds.leaveOut(line, what, why, 'Use "@every 90s", which counts from 1970, or a cron expression.');
    return undefined;
  } else if (calendar !== undefined) {
    const why = `its calendar ${calendar} excludes times, and its dates are not in this file`;
    finds.leaveOut(line, what, why, 'Write the dates into "calendars", and name them in "except" of the job.');
    return undefined;
  }
  try {
    const settings = settingsOf(finds, trigger, job, options);
    if (period === undefined) {
      const timeZone = textOf(trigger, 'time-zone') ?? options.timeZone;
      return { line, name: jobName, expression: textOf(trigger, 'cron-expression') ?? '', timeZone, settings };
    }
    finds.add(line, jobName, { schedule: `@every ${formatDuration(period)}`, ...settings });
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    finds.leaveOut(line, what, `a time of it ${error.message}`, 'Write it as 2026-12-31T23:00:00Z.');
  }
  return undefined;
}

/** The period of a trigger that repeats forever, in whole seconds. */
function periodOf(trigger: Element): Millis | undefined {
  const [count, interval] = ['repeat-count', 'repeat-interval'].map((name) => textOf(trigger, name));
  const period = Number(interval);
  const isForever = count === '-1' || count === 'REPEAT_INDEFINITELY';
  return isForever && period >= 1000 && period % 1000 === 0 ? period : undefined;
}

function settingsOf(
  finds: Finds,
  trigger: Element,
  job: Element | undefined,
  options: SourceOptions,
): Omit<JobInFile, 'schedule'> {
  const entries = [job, trigger].flatMap((element) =>
    element === undefined ? [] : childrenOf(element, 'job-data-map', 'entry'),
  );
  const input: Record<string, string> = {};
  for (const entry of entries) {
    const key = textOf(entry, 'key') ?? '';
    const value = textOf(entry, 'value') ?? '';
    if (isSecretName(key) || looksSecret(key, value)) {
      const why = 'a jobs file must not contain a secret, so the input omits it';
      finds.note(entry.line, `input ${key}`, why, 'Read it from an app setting in the handler.');
    } else input[key] = value;
  }
  const description =
    textOf(trigger, 'description') ?? (job && (textOf(job, 'description') ?? textOf(job, 'job-class')));
  return {
    ...(description !== undefined && { description }),
    ...(Object.keys(input).length > 0 && { input }),
    ...misfireOf(trigger),
    ...priorityOf(finds, trigger),
    ...windowOf(trigger, options),
  };
}

function misfireOf(trigger: Element): Pick<JobInFile, 'catchUp'> {
  switch (textOf(trigger, 'misfire-instruction')) {
    case 'MISFIRE_INSTRUCTION_DO_NOTHING':
      return { catchUp: 'none' };
    case 'MISFIRE_INSTRUCTION_IGNORE_MISFIRE_POLICY':
      return { catchUp: 'all' };
    default:
      return {};
  }
}

const PRIORITIES = 9;

function priorityOf(finds: Finds, trigger: Element): Pick<JobInFile, 'priority'> {
  const text = textOf(trigger, 'priority');
  if (text === undefined) return {};
  const priority = Number(text);
  if (Number.isInteger(priority) && priority >= 0 && priority <= PRIORITIES) return { priority };
  const why = `"priority" is 0 to ${PRIORITIES}`;
  finds.note(trigger.line, `priority ${text}`, why, 'Use a priority in that range, if the order matters.');
  return {};
}

/** The period of a trigger, its end included as in Quartz. A start that is over leaves no trace. */
function windowOf(trigger: Element, options: SourceOptions): Pick<JobInFile, 'between'> {
  const [start, end] = ['start-time', 'end-time'].map((name) => instantOf(textOf(trigger, name), options.timeZone));
  const from = start === undefined || start <= options.now ? {} : { from: isoOf(start) };
  const to = end === undefined ? {} : { to: isoOf(end + 1000) };
  const between = { ...from, ...to };
  return Object.keys(between).length === 0 ? {} : { between };
}

function instantOf(text: string | undefined, timeZone: string): EpochMs | undefined {
  if (text === undefined) return undefined;
  const moment = parseMoment(text.replace(/\.0+(?=$|Z|[+-])/, ''));
  return moment.kind === 'instant' ? moment.at : instantOfWall(zoneOf(timeZone), moment.wall) * 1000;
}

interface Element {
  readonly name: string;
  readonly line: number;
  readonly children: Element[];
  text: string;
}

/**
 * Reads a small XML file whole.
 * @throws ImportError
 */
function readXml(file: string, text: string): Element {
  const parser = new SaxesParser({ fileName: file });
  const root: Element = { name: '', line: 1, children: [], text: '' };
  const open = [root];
  const add = (part: string): void => {
    const element = open.at(-1);
    if (element !== undefined) element.text += part;
  };
  parser.on('opentag', ({ name }) => {
    const element: Element = { name: name.replace(/^.*:/, ''), line: parser.line, children: [], text: '' };
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on('text', add);
  parser.on('cdata', add);
  parser.on('closetag', () => {
    const element = open.pop();
    if (element !== undefined) element.text = element.text.trim();
  });
  let failure: ImportError | undefined;
  parser.on('error', (error) => {
    failure ??= new ImportError({ file, line: parser.line }, `this is not XML: ${error.message}`, { cause: error });
  });
  parser.write(text).close();
  if (failure !== undefined) throw failure;
  return root;
}

function childrenOf(element: Element, ...names: readonly string[]): readonly Element[] {
  const [name, ...rest] = names;
  if (name === undefined) return [element];
  return element.children.filter((child) => child.name === name).flatMap((child) => childrenOf(child, ...rest));
}

function textOf(element: Element, name: string): string | undefined {
  const text = element.children.find((child) => child.name === name)?.text;
  return text === '' ? undefined : text;
}
