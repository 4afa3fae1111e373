import { existsSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, type ConfigIssue, placeText, ISSUES_SHOWN } from '../../config/config-error';
import { hostAdvice } from '../../functions/host-advice';
import { checkAudit, diagnose, type FileSeen } from '../../operator/doctor/diagnose';
import { type Finding, orOk, problem, type Severity, warning } from '../../operator/doctor/finding';
import type { Options } from '../commands/command';
import { appFolderOf, DEFAULT_FILE, type FileOptions, isNoJobsFile, loadFile } from '../jobs-file';
import { answer, NO, OK, style } from '../output';
import { openSecondAudit, openStore, tryStorage } from '../storage';
import { textIn, timesOf } from '../time';
import { counted } from '../../core/text';

const COLOURS = { ok: 'green', warning: 'yellow', problem: 'red' } as const satisfies Record<Severity, string>;

/** `cronlease doctor`: looks for anything that may keep the jobs from running. Only a problem makes the exit code 1. */
export async function doctor(options: Options): Promise<number> {
  const store = openStore(options);
  const { seen, warnings } = readFile(options);
  const found = await diagnose(store, await tryStorage(options), seen);
  const audit = await checkAudit(openSecondAudit(options));
  const findings = [...found, ...audit, ...fileFindings(warnings), ...hostFindings(options)];
  const number = (status: Severity): number => findings.filter((finding) => finding.status === status).length;
  const [problems, warned] = [number('problem'), number('warning')];
  const isWell = problems === 0;
  answer(options, { ok: isWell, problems, warnings: warned, findings }, () => {
    const lines = textIn(findings.map(line).join('\n'), timesOf(options));
    return `${lines}\n\n${counted(problems, 'problem')}, ${counted(warned, 'warning')}.`;
  });
  return isWell ? OK : NO;
}

function readFile(options: FileOptions): { readonly seen: FileSeen; readonly warnings: readonly ConfigIssue[] } {
  const { file: source = DEFAULT_FILE } = options;
  try {
    const { jobsFile: file, warnings } = loadFile(options, { clockChanges: true });
    return { seen: { kind: 'read', source, file }, warnings };
  } catch (error) {
    if (isNoJobsFile(error)) {
      const reason = `there is no ${source} here: checks that need it are left out`;
      return { seen: { kind: 'none', reason }, warnings: [] };
    }
    if (!(error instanceof ConfigError)) throw error;
    const reason = `${source} cannot be used: ${error.message.split('\n', 1)[0] ?? ''}`;
    return { seen: { kind: 'wrong', reason }, warnings: error.warnings };
  }
}

/** What `validate` warns of in the jobs file: each job of a large file may have a warning. */
function fileFindings(warnings: readonly ConfigIssue[]): readonly Finding[] {
  const shown = warnings.slice(0, ISSUES_SHOWN).map((issue): Finding => {
    const check = issue.path.startsWith('calendars') ? 'calendars' : 'file';
    return warning(check, issue.path, placeText(issue) + issue.message, issue.remedy);
  });
  const more = warnings.length - shown.length;
  const rest = warning('file', null, `has ${counted(more, 'more warning')}`, 'list them with "cronlease validate"');
  return more === 0 ? shown : [...shown, rest];
}

/** Checks the settings of Durable's queues. Without a host.json above the jobs file, this is not an app's folder. */
function hostFindings({ file = DEFAULT_FILE }: FileOptions): readonly Finding[] {
  const folder = appFolderOf(file);
  if (!existsSync(path.join(folder, 'host.json'))) return [];
  const { errors, warnings } = hostAdvice(process.env, folder);
  const said = ({ path: member, value, message, ...issue }: ConfigIssue): string =>
    `${placeText(issue)}${member}${typeof value === 'string' ? ` = "${value}"` : ''}: ${message}`;
  const found = [
    ...errors.map((issue) => problem('host', null, said(issue), issue.remedy)),
    ...warnings.map((issue) => warning('host', null, said(issue), issue.remedy)),
  ];
  return orOk(
    found,
    'host',
    'by host.json, Durable looks for work every 5 s or less, and what a killed host had taken stays hidden for a minute at most',
  );
}

function line({ check, status, subject, message, remedy }: Finding): string {
  const about = subject === null ? '' : `${style('bold', subject)}: `;
  const advice = remedy === null ? '' : `\n${' '.repeat(23)}${remedy}`;
  return `${style(COLOURS[status], status.padEnd(8))} ${check.padEnd(13)} ${about}${message}${advice}`;
}
