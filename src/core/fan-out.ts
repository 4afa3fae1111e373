import type { EpochMs, Millis, Token } from './brand';
import type { JobSpec, Retry } from './job';
import { isObject } from './metadata';
import type { RecordedError } from './record';

/** How a job fans out: what `defineFanOut` was given, checked, with every default filled in. */
export interface FanOutPolicy {
  /** So many items of a run are worked on at once. */
  readonly concurrency: number;
  readonly maxItems: number;
  /** One item's call is aborted after this long; undefined: after the job's timeout. */
  readonly itemTimeoutMs: Millis | undefined;
  /** How long the items of a run may take in all; undefined: the job's timeout. */
  readonly deadlineMs: Millis | undefined;
  readonly retry: Retry;
  /** `failFast`: an item that failed for good ends the run. `collect`: gather is told. */
  readonly onItemFailure: 'failFast' | 'collect';
}

/** The pieces of a run: its plan, its heartbeats, what became of each item, and a mark that no more are to be started. */
export const PLAN_PIECE = 'plan';
export const STOP_PIECE = 'stop';

/** How often a process that works on items of a run says so. */
export const BEAT_EVERY_MS: Millis = 15_000;
/** A beat lets the items of its process trust for this long at most: less than {@link SILENT_AFTER_MS}. */
export const BEAT_TRUSTS_MS: Millis = 40_000;
/** After this long without a beat somebody else may go on with a run before its items' deadline. */
export const SILENT_AFTER_MS: Millis = 45_000;
/** Kept off the end of the items' time: a Date has a resolution of 1 s, and clocks are corrected beyond 2 s. */
export const ITEMS_MARGIN_MS: Millis = 3_000;
/** Of the service's Dates: of two of them, either may be cut by almost as much. */
const DATE_RESOLUTION_MS = 1_000;

/** How long the items of a run may take before somebody else may go on with it. */
export function itemsDeadlineMs({ timeoutMs }: JobSpec, { deadlineMs }: FanOutPolicy): Millis {
  return deadlineMs ?? timeoutMs ?? 0;
}

/** Of one claim: items of an earlier one cannot be taken for those of its successor. */
export function beatPiece(token: Token): string {
  return `alive-${String(token)}`;
}

/** When a run's heartbeat was written last, and when that was asked, both by the service's Date. */
export interface LastBeat {
  readonly writtenAt: EpochMs;
  readonly date: EpochMs;
}

export function isSilent({ writtenAt, date }: LastBeat): boolean {
  return date >= silentFrom(writtenAt);
}

/** The first Date that shows that there was no beat for long enough. */
export function silentFrom(writtenAt: EpochMs): EpochMs {
  return writtenAt + SILENT_AFTER_MS + DATE_RESOLUTION_MS;
}

export function itemPiece(index: number): string {
  return `item-${String(index).padStart(5, '0')}`;
}

/** Which item's piece it is; undefined: none's. */
export function parseItemPiece(name: string): number | undefined {
  const match = /^item-(\d{5})$/.exec(name);
  return match === null ? undefined : Number(match[1]);
}

/** An item on its way: `item` is JSON text, since Durable may write times inside JSON anew. */
export interface PlannedItem {
  readonly index: number;
  readonly item: string;
}

/** The items of a stored plan, each as JSON text; undefined when the text is none of ours. */
export function parsePlan(body: string): readonly PlannedItem[] | undefined {
  const texts = parseJson(body);
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string')) return undefined;
  return texts.map((item, index) => ({ index, item }));
}

/** Deals items out to as many lanes as may be worked on at once; each lane takes its items one after another. */
export function lanesOf(items: readonly PlannedItem[], concurrency: number): readonly (readonly PlannedItem[])[] {
  const count = Math.min(concurrency, items.length);
  return Array.from({ length: count }, (_, lane) => items.filter((_item, position) => position % count === lane));
}

/** What became of one item for good. */
export type ItemEnd =
  | { readonly state: 'succeeded'; readonly result?: unknown }
  | { readonly state: 'failed'; readonly error: RecordedError; readonly attempts: number };

export function storeItemEnd(end: ItemEnd): { readonly body: string; readonly summary: Record<string, string> } {
  return { body: JSON.stringify(end), summary: { state: end.state } };
}

/** Undefined when the text is none of ours. */
export function parseItemEnd(body: string): ItemEnd | undefined {
  const value = parseJson(body);
  if (!isObject(value)) return undefined;
  if (value['state'] === 'succeeded') return { state: 'succeeded', result: value['result'] };
  const { state, error, attempts } = value;
  if (state !== 'failed' || !isObject(error) || typeof attempts !== 'number') return undefined;
  const { name, message, stack } = error;
  if (typeof name !== 'string' || typeof message !== 'string') return undefined;
  return { state, attempts, error: { name, message, ...(typeof stack === 'string' ? { stack } : {}) } };
}

/** Undefined when the text is no JSON, and so none of ours. */
function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
