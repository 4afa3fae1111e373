import { formatDuration } from '../../core/duration';
import type { Verdict } from './judge';
import type { Step } from './play';

/** The whole report of a drill, which `--json` prints. Times are ISO 8601 in UTC. */
export interface DrillReport extends Verdict {
  /** The file of the report for people. */
  readonly report: string;
  /** The app whose jobs ran: its folder, or the probe jobs that come with cronlease. */
  readonly app: string;
  readonly machine: string;
  readonly versions: { readonly cronlease: string; readonly node: string };
  readonly revision: number;
  readonly deployments: readonly string[];
  readonly stopped: { readonly deployment: string; readonly pid: number; readonly at: string };
  readonly span: { readonly from: string; readonly until: string };
  readonly steps: readonly { readonly at: string; readonly what: string }[];
}

export function stepShape({ at, what }: Step): DrillReport['steps'][number] {
  return { at: new Date(at).toISOString(), what };
}

/** The report for people: Markdown. */
export function reportText(report: DrillReport): string {
  const { ok, versions, machine, span, duplicates, losses } = report;
  const paragraphs = [
    `# Failover drill: ${ok ? 'passed' : 'failed'}`,
    `One of ${report.deployments.length} deployments that coordinate the same jobs was killed while it ran one of ` +
      'them, and started again later. All times are UTC.',
    list([
      `jobs: ${report.app}, revision ${report.revision}`,
      `software: cronlease ${versions.cronlease}, Node ${versions.node}`,
      `where: ${machine}, with a storage emulator and all deployments on it`,
      `watched: ${span.from} to ${span.until}`,
    ]),
    '## Result',
    table(
      ['check', 'target', 'measured', 'result'],
      report.checks.map(({ name, target, measured, ok }) => [name, target, measured, ok ? 'met' : '**missed**']),
    ),
    ...(duplicates.length === 0 ? [] : ['Duplicates:', list(duplicates)]),
    ...(losses.length === 0 ? [] : ['Losses:', list(losses)]),
    '## Steps',
    table(
      ['when', 'what'],
      report.steps.map(({ at, what }) => [at, what]),
    ),
    '## Interrupted runs',
    interruptedTable(report),
    '## Every due time',
    'From the ledger.',
    ...report.jobs.flatMap(({ job, dueTimes }) => [`### ${job}`, dueTimesTable(dueTimes)]),
    '## How to read this',
    list([
      'take-over: from the kill until another deployment claimed the run. Its target is the lease of the job, one ' +
        'gap between two ticks, and 2 s.',
      'catch-up: from the kill until every due time before the end of the interrupted run had an outcome.',
      "gap: from the kill until the run's handler worked again.",
      'duplicate: an attempt that started twice, a run that started again after its end or ended twice, or a due ' +
        'time with two outcomes. An interrupted run continues with its next attempt, which is not a duplicate.',
      'loss: a due time without an outcome. A due time that did not run, because the last run was still in progress ' +
        'or a newer due time came, has an outcome with that reason.',
      'The drill ran on one machine: it tests the coordination, but neither a network nor Azure itself.',
    ]),
  ];
  return `${paragraphs.join('\n\n')}\n`;
}

function interruptedTable({ interrupted }: DrillReport): string {
  if (interrupted.length === 0) return 'None.';
  return table(
    ['run', 'taken over by', 'take-over', 'gap', 'outcome'],
    interrupted.map(({ runId, takenOverBy, takeOverMs, gapMs, outcome }) => [
      runId,
      takenOverBy ?? 'nobody',
      span(takeOverMs),
      span(gapMs),
      outcome ?? 'none',
    ]),
  );
}

function dueTimesTable(dueTimes: Verdict['jobs'][number]['dueTimes']): string {
  if (dueTimes.length === 0) return 'Nothing was due.';
  return table(
    ['due', 'outcome', 'reason', 'late', 'attempts'],
    dueTimes.map(({ scheduledFor, outcome, reason, latenessMs, attempts }) => [
      scheduledFor,
      outcome ?? '**none**',
      reason ?? '',
      latenessMs === null ? '' : `${latenessMs} ms`,
      attempts
        .map(({ deployment, outcome, startedAt }) =>
          startedAt === null ? `${deployment}: ${outcome}` : `${deployment} from ${startedAt}: ${outcome}`,
        )
        .join('; '),
    ]),
  );
}

function span(ms: number | null): string {
  return ms === null ? 'never' : formatDuration(ms);
}

function list(lines: readonly string[]): string {
  return lines.map((line) => `- ${escape(line)}`).join('\n');
}

function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(escape).join(' | ')} |`;
  return [line(heading), line(heading.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Escapes characters that would end a table cell. */
function escape(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ');
}
