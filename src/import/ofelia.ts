import { type Finds, type Found, type SourceOptions, findsIn, logicalLines } from './draft';
import { goCron } from './go-cron';

const SECTION = /^\[\s*([\w-]+)(?:\s+(?:"([^"]*)"|([^\s\]]+)))?\s*\]/;
const JOB_SECTION = /^\[\s*job-[\w-]+\s+"/m;
/** Settings that have become those of a job. */
const CARRIED = new Set(['schedule', 'command', 'no-overlap']);

interface Section {
  readonly line: number;
  /** Such as `job-exec`. */
  readonly kind: string;
  readonly name: string;
  readonly settings: { readonly line: number; readonly key: string; readonly value: string }[];
}

/** Whether a file is the configuration of Ofelia: no line of a crontab begins so. */
export function isOfelia(text: string): boolean {
  return JOB_SECTION.test(text);
}

export function readOfelia(file: string, text: string, options: SourceOptions): Found {
  const finds = findsIn(file);
  for (const section of sectionsOf(finds, text)) {
    if (section.kind.startsWith('job-')) addJob(finds, section, options);
    else if (section.settings.length > 0) {
      const why = 'it configures Ofelia itself, such as its mails and reports';
      const remedy = 'Set "notify" for jobs whose failures you must know about.';
      finds.note(section.line, `[${section.kind}] ${keysOf(section, () => true)}`, why, remedy);
    }
  }
  return finds;
}

function sectionsOf(finds: Finds, text: string): readonly Section[] {
  const sections: Section[] = [];
  for (const { line, text: entry } of logicalLines(text, /^[#;]/)) {
    const [header, kind = '', quoted, bare = ''] = SECTION.exec(entry) ?? [];
    const [setting, key = '', value = ''] = /^([\w.-]+)\s*[=:]\s*(.*)$/.exec(entry) ?? [];
    if (header !== undefined) {
      sections.push({ line, kind: kind.toLowerCase(), name: quoted ?? bare, settings: [] });
    } else if (setting !== undefined && sections.length > 0) {
      sections.at(-1)?.settings.push({ line, key: key.toLowerCase(), value });
    } else finds.leaveOut(line, entry, 'it is neither a section nor a setting of one', 'Correct it, or remove it.');
  }
  return sections;
}

function addJob(finds: Finds, section: Section, options: SourceOptions): void {
  const { line, kind, name, settings } = section;
  const what = `[${kind} "${name}"]`;
  const valueOf = (key: string): string | undefined => settings.find((one) => one.key === key)?.value;
  const schedule = plain(valueOf('schedule') ?? '');
  if (schedule === '') {
    finds.leaveOut(line, what, 'it has no schedule', 'Write its schedule, or remove it.');
    return;
  }
  const cron = schedule.replace(/^(?:CRON_)?TZ=\S+\s+/, '');
  if (/^\S+(\s+\S+){4}$/.test(cron)) {
    const why = `"${schedule}" has five fields: older versions of Ofelia read seconds first, and later ones minutes`;
    finds.leaveOut(line, what, why, 'Write six fields with seconds first.');
    return;
  }
  try {
    const { timing, period } = goCron(schedule, { ...options, fields: 6 });
    const command = valueOf('command') ?? valueOf('image') ?? valueOf('container');
    finds.add(line, name, { ...timing, ...(command !== undefined && { description: command }) });
    if (period !== undefined) {
      const why = 'Ofelia counts the period from its start, the job from 1970, so the due times shift';
      finds.note(line, `${what} ${period}`, why, 'Check the first due times: cronlease next.');
    }
  } catch (error) {
    finds.leaveOutFor(error, line, what, `"${schedule}"`);
    return;
  }
  const others = keysOf(section, (key) => !CARRIED.has(key));
  if (others !== '') {
    const why = 'the handler runs in the function app, which has no such setting';
    finds.note(line, `${what} ${others}`, why, 'Use app settings, the identity of the app, and its plan.');
  }
}

/** The names of settings. Their values may be secret. */
function keysOf({ settings }: Section, wanted: (key: string) => boolean): string {
  return [...new Set(settings.map(({ key }) => key).filter(wanted))].join(', ');
}

/** A value without a comment after it, and without the quotes around it. */
function plain(value: string): string {
  return value
    .replace(/\s[#;].*$/, '')
    .trim()
    .replace(/^(["'])(.*)\1$/, '$2')
    .trim();
}
