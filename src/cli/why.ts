import { formatDuration } from '../core/duration';
import { describe } from '../operator/describe';
import { explainTime } from '../operator/explain';
import type { Explanation } from '../operator/explain';
import type { ShownRecord } from '../operator/list-runs';
import type { AttemptRecord } from '../core/record';
import { oneLine } from '../core/text';
import type { FileOptions } from './jobs-file';
import { jobIn, loadFile } from './jobs-file';
import { OK, print, printJson, style, warn } from './output';
import { lateness, paintOutcome, stretch, took } from './record-text';
import type { StorageOptions } from './storage';
import { openStore } from './storage';
import { bothTimes, parseTime, timeIn, utc } from './time';

export interface WhyOptions extends FileOptions, StorageOptions {
  readonly json?: boolean | undefined;
}

/** `cronlease why`: what became of one instant, or will. */
export async function why(job: string, time: string, options: WhyOptions): Promise<number> {
  const moment = parseTime(time, 'TIME');
  const loaded = loadFile(options);
  const spec = jobIn(loaded, job, options);
  const store = openStore(options);
  const explanation = await explainTime(store, spec, loaded.jobsFile.revision, timeIn(moment, spec.timeZone));
  for (const warning of explanation.warnings) warn(warning);
  if (options.json) {
    const { due, fate, reason, record } = explanation;
    printJson({ job, time: new Date(explanation.time).toISOString(), due, fate, reason, record });
  } else {
    print(text(explanation));
  }
  return OK;
}

function text(explanation: Explanation): string {
  const { job, time, due, fate, reason, record } = explanation;
  const show = (instant: number): string => bothTimes(instant, job.timeZone);
  const spread = job.offsetMs > 0 && due ? `, ${formatDuration(job.offsetMs)} later by "spread"` : '';
  return [
    `${style('bold', job.name)} at ${show(time)}${spread}`,
    `${paintOutcome(fate)} (${reason})`,
    describe(explanation, show),
    ...(record === null ? [] : ['', ...recordLines(record)]),
  ].join('\n');
}

function recordLines(record: ShownRecord): readonly string[] {
  const several = stretch(record);
  const lines: (readonly [string, string])[] = [
    ['run', several === '' ? record.runId : ''],
    ['stretch', several === '' ? '' : `${utc(Date.parse(record.scheduledFor))}, ${several}`],
    ['trigger', record.trigger ?? ''],
    ['started', started(record)],
    ['ended', record.endedAt === null ? '' : `${utc(Date.parse(record.endedAt))}, took ${took(record) || '0ms'}`],
    ['result', record.result === undefined ? '' : JSON.stringify(record.result)],
  ];
  const facts = lines.filter(([, value]) => value !== '').map(([name, value]) => `  ${name.padEnd(8)} ${value}`);
  return [...facts, ...record.attempts.flatMap(attemptLines)];
}

function started(record: ShownRecord): string {
  return record.startedAt === null ? '' : `${utc(Date.parse(record.startedAt))}, late by ${lateness(record)}`;
}

function attemptTimes({ startedAt, claimedAt, endedAt }: AttemptRecord): string {
  const claimed = claimedAt === undefined ? '' : `claimed ${utc(Date.parse(claimedAt))}, `;
  const from = startedAt === null ? claimed : `from ${utc(Date.parse(startedAt))} `;
  return from + (endedAt === null ? 'its holder died' : `to ${utc(Date.parse(endedAt))}`);
}

function attemptLines(record: AttemptRecord): string[] {
  const { attempt, token, deployment, outcome, error } = record;
  const line = `  attempt ${attempt}  token ${token}  on ${oneLine(deployment)}  ${attemptTimes(record)}  ${paintOutcome(outcome)}`;
  if (error === null) return [line];
  const detail = error.stack ?? `${error.name}: ${error.message}`;
  return [line, ...detail.split('\n').map((part) => `    ${part}`)];
}
