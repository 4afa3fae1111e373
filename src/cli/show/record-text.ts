import type { JobName } from '../../core/brand';
import type { JobSpec } from '../../core/job';
import { parseRunId } from '../../core/key';
import { tookMs } from '../../core/record';
import { errorText, mapTexts } from '../../core/recorded-error';
import { showSpan } from '../../core/show-time';
import { oneLine } from '../../core/text';
import { redactSetting } from '../../functions/redact';
import type { LeaseStore } from '../../lease/store';
import { type ShownRecord, inputOfRun, type ShownInput } from '../../operator/views/runs';
import { OUTCOME_COLOURS, style } from '../output';
import type { ShowTime } from '../time';

export function paintOutcome(outcome: string): string {
  const colour = OUTCOME_COLOURS[outcome];
  return colour === undefined ? outcome : style(colour, outcome);
}

/** How late it started: `5 ms`, `1.2 s`, `3 min 20 s`. */
export function lateness({ latenessMs }: ShownRecord): string {
  return latenessMs === null ? '' : showSpan(latenessMs);
}

/** The handler's time, without the waits between its attempts. */
export function took(record: ShownRecord): string {
  const ms = tookMs(record);
  return ms === undefined ? '' : showSpan(ms);
}

/** The same with the waits: `took 4 s, waited 30 s between attempts`. */
export function tookAndWaited(record: ShownRecord): string {
  const { waitedMs = 0 } = record;
  return `took ${took(record) || '0 ms'}${waitedMs === 0 ? '' : `, waited ${showSpan(waitedMs)} between attempts`}`;
}

/** For a record of several due times: their number, and the last one. */
export function stretch({ count, through }: ShownRecord, show: ShowTime): string {
  if (through === undefined) return '';
  const until = show(Date.parse(through));
  return count === undefined ? `all due times through ${until}` : `${count} due times through ${until}`;
}

/** The number of attempts. An attempt that only planned the items of a fan-out does not count. */
export function attemptsMade({ attempts }: ShownRecord): number {
  return attempts.filter(({ outcome }) => outcome !== 'planned').length;
}

export function deployment({ attempts }: ShownRecord): string {
  return oneLine(attempts.at(-1)?.deployment ?? '');
}

/** Who asked for the run, from where and why, on one line. Undefined if the schedule started it. */
export function askedBy({ origin }: ShownRecord): string | undefined {
  if (origin === undefined) return undefined;
  const why = origin.note === undefined ? '' : `: ${origin.note}`;
  return oneLine(`by ${origin.actor} (${origin.channel})${why}`);
}

/** The error of the last attempt, on one line. */
export function lastError({ attempts }: ShownRecord): string | undefined {
  const error = attempts.at(-1)?.error;
  return error ? oneLine(errorText(mapTexts(error, (text) => text.split('\n', 1)[0] ?? ''))) : undefined;
}

/** The input of a recorded run. Undefined: nothing ran, or it had none. */
export async function recordInput(
  store: LeaseStore,
  record: ShownRecord | null,
  spec: JobSpec | undefined,
): Promise<ShownInput | undefined> {
  const parts = record === null || record.trigger === null ? undefined : parseRunId(record.runId);
  if (parts === undefined) return undefined;
  return inputOfRun(store, { job: parts.job as JobName, key: parts.key, spec, redact: redactSetting(process.env) });
}

/** On one line, with the input of the jobs file if that differs. */
export function inputText({ value, from, inFile }: ShownInput): string {
  const source = from === 'manualRun' ? 'given with the manual run' : 'of the jobs file as it is now';
  const other = inFile === undefined ? '' : `; the jobs file has ${JSON.stringify(inFile)}`;
  return `${JSON.stringify(value)} (${source}${other})`;
}
