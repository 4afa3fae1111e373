import type { EpochMs, JobName, Millis, Token } from './brand';
import { PLAN_PIECE, progressIn, tokenOfBeat } from './fan-out';
import { given } from './given';
import { compactTime } from './key';
import { type Progress, isProgress } from './log-entry';
import { isObject, parsedJson } from './metadata';
import { type RecordedError, isRecordedError } from './recorded-error';

/** After this long without a heartbeat, another deployment takes an orchestration over, unless its job says so. */
export const TAKE_OVER_AFTER_MS: Millis = 90_000;
/** A deployment beats this often for its orchestrations at least: two heartbeats may be lost. */
export const BEATS_PER_TAKE_OVER = 3;
/** How long an activity trusts one look at the row of its run. */
export const FENCE_TRUSTS_MS: Millis = 10_000;
/**
 * After its claim, an attempt waits this long before it starts an orchestration in place of an earlier one: by then no
 * activity of that one trusts any more, even if its clock is slow. Decision 133.
 */
export const SUCCEEDS_AFTER_MS: Millis = 12_000;
/** Raised to an orchestration whose run was cancelled. */
export const CANCEL_EVENT = 'cronlease.cancel';

/** What an orchestrator gets besides its input, for its activities. */
export interface OrchestrationRun {
  readonly job: string;
  readonly runId: string;
  /** ISO 8601. */
  readonly scheduledFor: string;
  /** The attempt of the run. Each starts its own orchestration. */
  readonly attempt: number;
  readonly token: number;
}

/** The id of the orchestration that a claim starts, at most 98 characters. No other claim of the job has its token. */
export function instanceIdOf(job: JobName, scheduledFor: EpochMs, token: number): string {
  return `${job}-${compactTime(scheduledFor).replace(/\.\d+/, '')}-t${String(token)}`;
}

/** The parts of an {@link instanceIdOf}; undefined if it is none. */
export function parseInstanceId(id: string): { readonly job: JobName; readonly token: Token } | undefined {
  const match = /^([a-z0-9-]{1,63})-\d{8}T\d{6}Z-t(\d{1,16})$/.exec(id);
  return match === null ? undefined : { job: match[1] as JobName, token: Number(match[2]) as Token };
}

/** The custom status of an orchestration as the progress of its run. Undefined: it has none. */
export function progressOf(customStatus: unknown): Progress | undefined {
  if (customStatus === null || customStatus === undefined) return undefined;
  if (typeof customStatus === 'string') return { note: customStatus };
  if (isProgress(customStatus)) {
    const { note, fraction, ...others } = customStatus;
    const isKnown = (note ?? fraction) !== undefined && Object.keys(others).length === 0;
    if (isKnown && (fraction === undefined || (fraction >= 0 && fraction <= 1))) return given({ note, fraction });
  }
  return { note: JSON.stringify(customStatus) };
}

/** What is known of the orchestration of a run. */
export interface OrchestrationSeen {
  /** The id of the one that was started last. */
  readonly orchestration: string;
  /** Of the last heartbeat that had any. */
  readonly progress?: Progress;
}

/** What the stored pieces of a run show of its orchestration. Undefined: it has started none. */
export function orchestrationIn(
  pieces: readonly { readonly name: string; readonly summary: Readonly<Record<string, string>>; writtenAt: EpochMs }[],
  { job, scheduledFor }: { readonly job: JobName; readonly scheduledFor: EpochMs },
): OrchestrationSeen | undefined {
  const token = Math.max(...pieces.map(({ name }) => tokenOfBeat(name) ?? 0));
  // The items of a fan-out have heartbeats too, and a plan before them.
  if (token < 1 || pieces.some(({ name }) => name === PLAN_PIECE)) return undefined;
  const beats = pieces.filter(({ name }) => tokenOfBeat(name) === token).toSorted((a, b) => b.writtenAt - a.writtenAt);
  const progress = beats.map(({ summary }) => progressIn(summary)).find((found) => found !== undefined);
  return { orchestration: instanceIdOf(job, scheduledFor, token), ...given({ progress }) };
}

/** How an orchestration has ended. The result is JSON text, because Durable may rewrite times inside JSON. */
export type OrchestrationEnd =
  | { readonly state: 'succeeded'; readonly result: string }
  | { readonly state: 'failed'; readonly error: RecordedError };

/** A message of the Durable extension may hold a whole stack, or the JSON of a large object. */
const MESSAGE_LIMIT = 8_000;

export function failedOrchestration(message: string): OrchestrationEnd {
  return { state: 'failed', error: { name: 'OrchestrationError', message: message.slice(0, MESSAGE_LIMIT) } };
}

/** Undefined if the text is not an orchestration's end. */
export function parseOrchestrationEnd(text: string): OrchestrationEnd | undefined {
  const value = parsedJson(text);
  if (!isObject(value)) return undefined;
  const { state, result, error } = value;
  if (state === 'succeeded' && typeof result === 'string') return { state, result };
  return state === 'failed' && isRecordedError(error) ? { state, error } : undefined;
}
