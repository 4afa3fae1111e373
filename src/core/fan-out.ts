import type { EpochMs, Millis, Token } from './brand';
import type { JobSpec, Retry } from './job';
import { type Progress, isProgress } from './log-entry';
import { asciiJson, isObject, parsedJson } from './metadata';
import { type RecordedError, isRecordedError } from './recorded-error';

/** How a job fans out: the options of `defineFanOut`, checked, with every default filled in. */
export interface FanOutPolicy {
  /** How many items of a run are worked on at once. */
  readonly concurrency: number;
  readonly maxItems: number;
  /** The limit of one item's call; undefined: the job's timeout. */
  readonly itemTimeoutMs: Millis | undefined;
  /** The limit of all items of a run together; undefined: the job's timeout. */
  readonly deadlineMs: Millis | undefined;
  readonly retry: Retry;
  /** `failFast`: an item that failed permanently ends the run. `collect`: `gather` receives the failure. */
  readonly onItemFailure: 'failFast' | 'collect';
}

/** The pieces of a run: its plan, its heartbeats, the end of each item, and a mark that stops further items. */
export const PLAN_PIECE = 'plan';
export const STOP_PIECE = 'stop';

/** How often a process beats for a run while it works on the run's items. */
export const BEAT_EVERY_MS: Millis = 15_000;
/** A beat lets the items of its process trust for so long at most: less than {@link SILENT_AFTER_MS}. Decision 088. */
export const BEAT_TRUSTS_MS: Millis = 40_000;
/** After this long without a beat, a tick may claim the run before its items' deadline. */
export const SILENT_AFTER_MS: Millis = 45_000;
/** Margin before the items' deadline: a Date has a resolution of 1 s, and a clock may be up to 2 s off uncorrected. */
export const ITEMS_MARGIN_MS: Millis = 3_000;
/** The service cuts its Dates to the second, so the difference of two may be off by almost this much. */
const DATE_RESOLUTION_MS = 1_000;

/** How long the items of a run, or its orchestration, may take before a tick may claim it. */
export function itemsDeadlineMs({ timeoutMs }: JobSpec, policy?: Pick<FanOutPolicy, 'deadlineMs'>): Millis {
  return policy?.deadlineMs ?? timeoutMs ?? 0;
}

/**
 * A heartbeat of one claim. Its name has the token, so that items of an earlier claim do not beat for a later one.
 * Decision 087.
 *
 * @param process whose heartbeat it is; undefined: what a process that was shut down leaves behind
 */
export function beatPiece(token: Token, process?: string): string {
  return process === undefined ? `alive-${String(token)}` : `alive-${String(token)}-${process}`;
}

/** When a heartbeat was last written, and when it was read, both by the service's Date. */
export interface LastBeat {
  readonly writtenAt: EpochMs;
  readonly date: EpochMs;
  /** After this long, its run may be claimed. Default: {@link SILENT_AFTER_MS}. */
  readonly silentAfterMs?: Millis;
}

interface ListedBeat extends LastBeat {
  readonly name: string;
}

/** The newest heartbeat of a claim. If all were deleted, it is never silent: the items' deadline decides. */
export function newestBeat(pieces: readonly ListedBeat[], token: Token, silentAfterMs = SILENT_AFTER_MS): LastBeat {
  const beats = pieces.filter(({ name }) => name === beatPiece(token) || isOfProcess(name, token));
  if (beats.length === 0) return { writtenAt: Infinity, date: 0 };
  const writtenAt = Math.max(...beats.map((beat) => beat.writtenAt));
  return { writtenAt, date: Math.min(...beats.map(({ date }) => date)), silentAfterMs };
}

/** Whether no process works on the claim's items. What one of them has left behind does not count. */
export function nobodyBeats(pieces: readonly ListedBeat[], token: Token): boolean {
  return pieces.every((beat) => !isOfProcess(beat.name, token) || isSilent(beat));
}

function isOfProcess(name: string, token: Token): boolean {
  return name.startsWith(beatPiece(token, ''));
}

export function isSilent(beat: LastBeat): boolean {
  return beat.date >= silentFrom(beat);
}

/** The first Date that proves the items, or the orchestration, silent. */
export function silentFrom({ writtenAt, silentAfterMs = SILENT_AFTER_MS }: Omit<LastBeat, 'date'>): EpochMs {
  return writtenAt + silentAfterMs + DATE_RESOLUTION_MS;
}

/** What the process of an item knows of it, unless it has ended: it is in a call, or waits for its next attempt. */
export interface NotedItem {
  readonly index: number;
  readonly state: 'running' | 'retrying';
  /** The attempt in progress, or the next one. */
  readonly attempt: number;
}

/** A heartbeat lists the newest of its items, so that they fit into the metadata of a blob. */
const NOTED_AT_MOST = 300;

/** The summary of a heartbeat: the items of its process, or how far an orchestration is. */
export function beatSummary(items: Iterable<NotedItem>, progress?: Progress): Record<string, string> {
  const texts = [...items]
    .slice(-NOTED_AT_MOST)
    .map(({ index, state, attempt }) => `${state} ${String(index)} ${String(attempt)}`);
  return {
    ...(texts.length > 0 && { items: texts.join(',') }),
    ...(progress !== undefined && { progress: asciiJson(progress) }),
  };
}

export function notedItems({ items = '' }: Readonly<Record<string, string>>): readonly NotedItem[] {
  return [...items.matchAll(/\b(running|retrying) (\d{1,5}) (\d{1,5})\b/g)].map(([, state, index, attempt]) => ({
    index: Number(index),
    state: state === 'running' ? state : 'retrying',
    attempt: Number(attempt),
  }));
}

export function progressIn({ progress }: Readonly<Record<string, string>>): Progress | undefined {
  const value = progress === undefined ? undefined : parsedJson(progress);
  return isProgress(value) ? value : undefined;
}

/** The token in the name of a heartbeat; undefined: the piece is none. */
export function tokenOfBeat(name: string): number | undefined {
  const match = /^alive-(\d+)(?:-|$)/.exec(name);
  return match === null ? undefined : Number(match[1]);
}

export function itemPiece(index: number): string {
  return `item-${String(index).padStart(5, '0')}`;
}

/** The index of the item; undefined if the piece is not an item's. */
export function parseItemPiece(name: string): number | undefined {
  const match = /^item-(\d{5})$/.exec(name);
  return match === null ? undefined : Number(match[1]);
}

/** An item of a plan. `item` is JSON text, because Durable may rewrite times inside JSON. */
export interface PlannedItem {
  readonly index: number;
  readonly item: string;
}

/** The items of a stored plan, each as JSON text; undefined if the text is not a plan. */
export function parsePlan(body: string): readonly PlannedItem[] | undefined {
  const texts = parsedJson(body);
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === 'string')) return undefined;
  return texts.map((item, index) => ({ index, item }));
}

/** Deals items out to as many lanes as may work at once. Each lane takes its items one after another. */
export function lanesOf(items: readonly PlannedItem[], concurrency: number): readonly (readonly PlannedItem[])[] {
  const count = Math.min(concurrency, items.length);
  return Array.from({ length: count }, (_, lane) => items.filter((_item, position) => position % count === lane));
}

export type ItemEnd = {
  readonly attempts: number;
  /** The handler's time in all calls that are known. Undefined: none is. */
  readonly durationMs?: Millis | undefined;
  /** The rest of the time from the first of them to the end. */
  readonly waitedMs?: Millis;
} & (
  | { readonly state: 'succeeded'; readonly result?: unknown }
  | { readonly state: 'failed'; readonly error: RecordedError }
);

/** Undefined if the text is not an item's end. */
export function parseItemEnd(body: string): ItemEnd | undefined {
  const value = parsedJson(body);
  if (!isObject(value)) return undefined;
  const { state, error, attempts, result } = value;
  if (typeof attempts !== 'number') return undefined;
  if (state === 'succeeded') return { state, attempts, result };
  return state === 'failed' && isRecordedError(error) ? { state, attempts, error } : undefined;
}
