import { ScheduleError } from '../core/schedule/schedule-error';
import { scheduled } from './clock-policy';
import { type Finds, type Found, type SourceOptions, findsIn } from './draft';
import { logicalLines } from './logical-lines';
import { readQuartz, windowOf } from './quartz-cron';
import { type QuartzTrigger, readQuartzXml } from './quartz-xml';

/** Reads the triggers of a Quartz jobs file (XML), of properties, or of a list with one `NAME EXPRESSION` a line. */
export function readQuartzFile(file: string, text: string, options: SourceOptions): Found {
  const finds = findsIn(file);
  const triggers = text.trimStart().startsWith('<')
    ? readQuartzXml(finds, file, text, options)
    : readLines(finds, text);
  for (const trigger of triggers) addTrigger(finds, trigger, options);
  return finds;
}

/** Adds the job of a trigger, or the reason against it. */
function addTrigger(finds: Finds, trigger: QuartzTrigger, options: SourceOptions): void {
  const { line, name, expression, timeZone = options.timeZone, settings = {} } = trigger;
  const what = `${name} = ${expression}`;
  try {
    const { values, years, written } = readQuartz(expression);
    const { differs, ...timing } = scheduled({ values, written, timeZone, rule: 'secondPass' }, options.now);
    if (differs !== undefined) throw new Error(`a Quartz expression differs: ${differs}`);
    if (years !== undefined && settings.between !== undefined) {
      throw new ScheduleError('has a year, and its trigger has a start or end time', 'use one of the two');
    }
    finds.add(line, name, { ...timing, ...settings, ...windowOf(years) });
  } catch (error) {
    finds.leaveOutFor(error, line, what, 'the expression');
  }
}

/** Six or seven fields, of which the first is a second: nothing else in a properties file looks like that. */
const EXPRESSION = /^[\d*/,-]+(\s+[\w*/,?#-]+){5,6}$/;

function readLines(finds: Finds, text: string): readonly QuartzTrigger[] {
  return logicalLines(text, /^[#!]/).flatMap(({ line, text: entry }) => {
    const split = /^(?<name>[^\s=:]+)(?:\s*[=:]\s*|\s+)(?<value>.*)$/.exec(entry)?.groups;
    const [name = '', value = ''] = [split?.['name'], split?.['value']?.trim().replace(/^(["'])(.*)\1$/, '$2')];
    const expression = [value, entry].find((one) => EXPRESSION.test(one));
    if (expression !== undefined) {
      const job = expression === value ? name : `job-${line}`;
      if (/\d/.test((expression.split(/\s+/)[5] ?? '').replaceAll(/[#/]\d+/g, ''))) {
        const why = 'Quartz counts weekdays from 1, which is Sunday; Spring and others count Monday as 1';
        finds.note(line, `${job} = ${expression}`, why, 'Check its weekdays: cronlease next.');
      }
      return [{ line, name: job, expression }];
    }
    // Another setting may hold a password: its name is enough.
    const what = name === '' ? 'a line' : name;
    finds.leaveOut(
      line,
      what,
      'it contains no Quartz expression',
      'Nothing needs to be done if it is another setting.',
    );
    return [];
  });
}
