import { leftJob } from '../../config/load';
import { formatDuration } from '../../core/duration';
import { given } from '../../core/given';
import { showRanges } from '../../core/item-table';
import { errorTrace, userFrames } from '../../core/recorded-error';
import { showSpan } from '../../core/show-time';
import { oneLine } from '../../core/text';
import { subjectOf } from '../../operator/subject';
import { backfilledRuns, explainLeft, explainTime, type Explanation } from '../../operator/views/explain';
import { describe, firstWaits, itemCounts, progressText } from '../../operator/views/describe';
import type { ShownAttempt, ShownRecord, ShownInput } from '../../operator/views/runs';
import { folded } from '../fit';
import { atHand, type FileOptions, loadFile } from '../jobs-file';
import { OK, OWN, print, printJson, style, warn } from '../output';
import { openStore, type StorageOptions } from '../storage';
import { bothTimes, parseTime, type ShowTime, timeIn, type TimeOptions, timesOf } from '../time';
import {
  askedBy,
  attemptsMade,
  deployment,
  inputText,
  lastError,
  lateness,
  paintOutcome,
  recordInput,
  stretch,
  tookAndWaited,
} from './record-text';

export interface WhyOptions extends FileOptions, StorageOptions, TimeOptions {
  readonly verbose?: boolean | undefined;
  readonly json?: boolean | undefined;
}

export async function why(job: string, time: string, options: WhyOptions): Promise<number> {
  const moment = parseTime(time, 'TIME');
  const loaded = loadFile(options);
  const store = openStore(options);
  const spec = loaded.jobsFile.jobs.find(({ name }) => name === job);
  const explanation =
    spec === undefined
      ? await explainLeft(
          store,
          leftJob((await subjectOf(store, job, atHand(loaded, options))).name),
          timeIn(moment, 'UTC'),
          'this jobs file',
        )
      : await explainTime(store, spec, loaded.jobsFile.revision, timeIn(moment, spec.timeZone));
  const backfills = await backfilledRuns(store, explanation);
  const input = await recordInput(store, explanation.record, spec);
  for (const warning of explanation.warnings) warn(warning);
  if (options.json) {
    const { due, outcome, reason, record, items, orchestration, progress } = explanation;
    const at = new Date(explanation.time).toISOString();
    const excludedBy = reason === 'excluded' ? { excludedBy: explanation.job.excluded?.by(explanation.time) } : {};
    const shown = record === null ? null : { ...record, ...given({ input }) };
    printJson({
      job,
      time: at,
      due,
      outcome,
      reason,
      record: shown,
      backfills,
      ...excludedBy,
      ...given({ items, orchestration, progress }),
    });
  } else {
    const show = timesOf(options);
    print([text(explanation, input, show, options.verbose === true), ...backfillText(backfills, show)].join('\n'));
  }
  return OK;
}

function text(explanation: Explanation, input: ShownInput | undefined, show: ShowTime, verbose: boolean): string {
  const { job, time, due, outcome, reason, record, items } = explanation;
  const both = (instant: number): string => bothTimes(show, instant, job.timeZone);
  const spread = job.offsetMs > 0 && due ? `, ${formatDuration(job.offsetMs)} later by "spread"` : '';
  return [
    `${style('bold', job.name)} at ${both(time)}${spread}`,
    `${paintOutcome(outcome)} (${reason})`,
    describe(explanation, both),
    ...(items === undefined ? [] : itemLines({ items }, verbose)),
    ...(record === null ? [] : ['', ...recordLines(record, input, show, verbose)]),
  ].join('\n');
}

/** The runs of the due time in back-fills, in at most 80 columns. */
export function backfillText(backfills: readonly ShownRecord[], show: ShowTime): readonly string[] {
  return backfills.flatMap((record) => {
    const { outcome, reason, runId, startedAt, endedAt } = record;
    const why = reason === null ? '' : ` (${reason})`;
    const facts: (readonly [string, string])[] = [
      ['run', runId],
      ['asked', askedBy(record) ?? ''],
      ['started', startedAt === null ? '' : show(Date.parse(startedAt))],
      ['ended', endedAt === null ? '' : `${show(Date.parse(endedAt))}, ${tookAndWaited(record)}`],
      ['attempts', `${String(attemptsMade(record))}, the last on ${deployment(record)}`],
      ['error', lastError(record) ?? ''],
    ];
    const lines = facts
      .filter(([name, value]) => value !== '' && (name !== 'attempts' || record.attempts.length > 0))
      .flatMap(([name, value]) => folded(`  ${name.padEnd(8)} ${value}`, 11));
    return ['', `Back-filled: ${paintOutcome(outcome)}${why}`, ...lines];
  });
}

function waitFor(waitedMs: number | undefined, what: string): string {
  return waitedMs === undefined ? '' : `, ${showSpan(waitedMs)} of it for ${what}`;
}

function recordLines(
  record: ShownRecord,
  input: ShownInput | undefined,
  show: ShowTime,
  verbose: boolean,
): readonly string[] {
  const several = stretch(record, show);
  const at = (iso: string): string => show(Date.parse(iso));
  const started = record.startedAt === null ? '' : at(record.startedAt);
  const late = lateness(record);
  const { waitedForGroupMs, waitedForConcurrencyMs } = firstWaits(record);
  const waits =
    waitFor(waitedForGroupMs, 'a place in its group') + waitFor(waitedForConcurrencyMs, 'the concurrency limit');
  const lines: (readonly [string, string])[] = [
    ['run', several === '' ? record.runId : ''],
    ['stretch', several === '' ? '' : `${at(record.scheduledFor)}, ${several}`],
    ['during', record.overlappedRunId ?? ''],
    ['trigger', record.trigger ?? ''],
    ['asked', askedBy(record) ?? ''],
    ['started', late === '' ? started : `${started}, ${late} late${waits}`],
    ['ended', record.endedAt === null ? '' : `${at(record.endedAt)}, ${tookAndWaited(record)}`],
    ['input', input === undefined ? '' : inputText(input)],
    ['result', record.result === undefined ? '' : JSON.stringify(record.result)],
    ['changed', record.resultChanges?.join('; ') ?? ''],
    ['items', record.items === undefined ? '' : itemCounts(record.items)],
    ['durable', record.orchestration ?? ''],
    ['progress', record.state === 'final' || record.progress === undefined ? '' : progressText(record.progress)],
  ];
  const facts = lines.filter(([, value]) => value !== '').map(([name, value]) => `  ${name.padEnd(8)} ${value}`);
  return [
    ...facts,
    ...itemLines(record, verbose),
    ...record.attempts.flatMap((attempt) => attemptLines(attempt, at, verbose)),
  ];
}

/** Failed items in a terminal, unless it is verbose. */
const ITEMS_SHOWN = 5;
const RANGES_SHOWN = 10;

/** The items of a run that failed, and those that have not ended. */
export function itemLines({ items }: Pick<ShownRecord, 'items'>, verbose: boolean): readonly string[] {
  if (items === undefined) return [];
  const failed = items.lines.filter(({ state }) => state === 'failed').slice(0, verbose ? Infinity : ITEMS_SHOWN);
  const more = items.failed - failed.length;
  const { notEnded = [], noted = [] } = items;
  const shown = verbose ? noted : noted.slice(0, RANGES_SHOWN);
  return [
    ...failed.map(({ index, attempts, error = '' }) => {
      const calls = attempts === 1 ? '' : ` after ${String(attempts)} calls`;
      return `  item ${String(index)} failed${calls}: ${oneLine(error)}`;
    }),
    ...(more > 0 ? [`  and ${String(more)} more`] : []),
    ...shown.map(({ index, state, attempt }) => `  item ${String(index)} ${state}, attempt ${String(attempt)}`),
    ...(noted.length > shown.length ? [`  and ${String(noted.length - shown.length)} more`] : []),
    ...(notEnded.length === 0
      ? []
      : [
          `  ${items.noted === undefined ? 'not ended' : 'waiting, or begun in the last 20 s'}: ${showRanges(notEnded, verbose ? Infinity : RANGES_SHOWN)}`,
        ]),
  ];
}

/** The end of a lost attempt is not known: a holder that could not settle in time looks the same as a dead one. */
export function attemptTimes(
  { startedAt, claimedAt, endedAt, outcome, error }: ShownAttempt,
  at: (iso: string) => string,
): string {
  const claimed = claimedAt === undefined ? '' : `claimed ${at(claimedAt)}, `;
  const from = startedAt === null ? claimed : `from ${at(startedAt)} `;
  if (endedAt !== null) return `${from}to ${at(endedAt)}`;
  if (outcome !== 'holderLost') return from.trimEnd();
  return error === null ? `${from}its holder died or lost its lease` : `${from}it lost its lease`;
}

function attemptLines(record: ShownAttempt, at: (iso: string) => string, verbose: boolean): string[] {
  const { attempt, token, deployment, outcome, error } = record;
  const line = [
    `  attempt ${attempt}`,
    ...(verbose ? [`token ${token}`] : []),
    `on ${oneLine(deployment)}`,
    attemptTimes(record, at),
    paintOutcome(outcome),
  ].join('  ');
  if (error === null) return [line];
  const detail = errorTrace(error);
  const lines = (verbose ? detail : userFrames(detail, OWN)).split('\n');
  return [line, ...lines.map((part) => `    ${part}`)];
}
