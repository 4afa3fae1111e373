import { leftJob } from '../../config/load';
import { formatDuration } from '../../core/duration';
import { given } from '../../core/given';
import { isoOf } from '../../core/iso';
import { showRanges } from '../../core/item-table';
import { errorTrace, userFrames } from '../../core/recorded-error';
import { oneLine } from '../../core/text';
import { subjectOf } from '../../operator/subject';
import { backfilledRuns, explainLeft, explainTime, type Explanation } from '../../operator/views/explain';
import { describe, firstWaits, itemCounts, progressText } from '../../operator/views/describe';
import type { ShownAttempt, ShownRecord, ShownInput } from '../../operator/views/runs';
import { folded } from '../fit';
import type { Options } from '../commands/command';
import { atHand, loadFile } from '../jobs-file';
import { answer, OWN, style, warn } from '../output';
import { openStore } from '../storage';
import { bothTimes, parseTime, type ShowTime, timesOf, waitsText } from '../time';
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

export async function why(
  job: string,
  time: string,
  options: Options & { readonly verbose?: boolean },
): Promise<number> {
  const timeIn = parseTime(time, 'TIME');
  const loaded = loadFile(options);
  const store = openStore(options);
  const { jobs, revision } = loaded.jobsFile;
  const spec = jobs.find(({ name }) => name === job);
  const at = timeIn(spec?.timeZone);
  const left = async () => leftJob((await subjectOf(store, job, atHand(loaded, options))).name);
  const explanation =
    spec === undefined
      ? await explainLeft(store, await left(), at, 'this jobs file')
      : await explainTime(store, spec, revision, at);
  const backfills = await backfilledRuns(store, explanation);
  const input = await recordInput(store, explanation.record, spec);
  for (const warning of explanation.warnings) warn(warning);
  const { due, outcome, reason, items, orchestration, progress } = explanation;
  const excludedBy = reason === 'excluded' ? { excludedBy: explanation.job.excluded?.by(explanation.time) } : {};
  const record = explanation.record && { ...explanation.record, ...given({ input }) };
  const document = {
    job,
    time: isoOf(explanation.time),
    due,
    outcome,
    reason,
    record,
    backfills,
    ...excludedBy,
    ...given({ items, orchestration, progress }),
  };
  const show = timesOf(options);
  return answer(options, document, () =>
    [text(explanation, input, show, options.verbose === true), ...backfillText(backfills, show)].join('\n'),
  );
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
    const facts = factLines({
      run: runId,
      asked: askedBy(record),
      started: startedAt && show(Date.parse(startedAt)),
      ended: endedAt && `${show(Date.parse(endedAt))}, ${tookAndWaited(record)}`,
      attempts: record.attempts.length > 0 && `${attemptsMade(record)}, the last on ${deployment(record)}`,
      error: lastError(record),
    });
    const lines = facts.flatMap((line) => folded(line, 11));
    return ['', `Back-filled: ${paintOutcome(outcome)}${why}`, ...lines];
  });
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
  const facts = factLines({
    run: several === '' && record.runId,
    stretch: several && `${at(record.scheduledFor)}, ${several}`,
    during: record.overlappedRunId,
    trigger: record.trigger,
    asked: askedBy(record),
    started: late === '' ? started : `${started}, ${late} late${waitsText(firstWaits(record))}`,
    ended: record.endedAt && `${at(record.endedAt)}, ${tookAndWaited(record)}`,
    input: input && inputText(input),
    result: record.result === undefined ? '' : JSON.stringify(record.result),
    changed: record.resultChanges?.join('; '),
    items: record.items && itemCounts(record.items),
    durable: record.orchestration,
    progress: record.state !== 'final' && record.progress && progressText(record.progress),
  });
  return [
    ...facts,
    ...itemLines(record, verbose),
    ...record.attempts.flatMap((attempt) => attemptLines(attempt, at, verbose)),
  ];
}

/** A line for each fact that there is. */
function factLines(facts: Readonly<Record<string, string | false | null | undefined>>): readonly string[] {
  return Object.entries(facts).flatMap(([name, value]) => (value ? [`  ${name.padEnd(8)} ${value}`] : []));
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
  const waiting = items.noted === undefined ? 'not ended' : 'waiting, or begun in the last 20 s';
  return [
    ...failed.map(({ index, attempts, error = '' }) => {
      const calls = attempts === 1 ? '' : ` after ${String(attempts)} calls`;
      return `  item ${String(index)} failed${calls}: ${oneLine(error)}`;
    }),
    ...(more > 0 ? [`  and ${String(more)} more`] : []),
    ...shown.map(({ index, state, attempt }) => `  item ${String(index)} ${state}, attempt ${String(attempt)}`),
    ...(noted.length > shown.length ? [`  and ${String(noted.length - shown.length)} more`] : []),
    ...(notEnded.length === 0 ? [] : [`  ${waiting}: ${showRanges(notEnded, verbose ? Infinity : RANGES_SHOWN)}`]),
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
