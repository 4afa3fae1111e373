import { given } from './given';
import {
  type ItemEnd,
  type LastBeat,
  type NotedItem,
  PLAN_PIECE,
  isSilent,
  notedItems,
  parseItemPiece,
  tokenOfBeat,
} from './fan-out';
import { asciiJson, isText, isWhole, listOf, objectOf, orAbsent, parsedJson } from './metadata';
import { firstLine } from './recorded-error';

/** One item of a fan-out that has ended. */
export interface ItemLine {
  /** Its place in the plan, from 0. */
  readonly index: number;
  /** Whether its handler returned, or it failed permanently. */
  readonly state: ItemEnd['state'];
  /** How often it was called. */
  readonly attempts: number;
  /** The handler's time in all its calls, in milliseconds, without those that were lost with their instance. */
  readonly durationMs?: number;
  /** How long it waited between its first call and its end, in milliseconds. Absent if it did not. */
  readonly waitedMs?: number;
  /** The first line of its error, if it failed. */
  readonly error?: string;
}

/** The items of a run that fans out. */
export interface ItemTable {
  /** How many items its plan has. */
  readonly planned: number;
  /** How many of them succeeded. */
  readonly succeeded: number;
  /** How many of them failed permanently. The others have not ended. */
  readonly failed: number;
  /** The items that have ended, failed ones first, then by index: 64 KB of them at most. */
  readonly lines: readonly ItemLine[];
  /** How many items that have ended are not in `lines`. */
  readonly leftOut: number;
  /** The items that have not ended, in ranges of their places: the first 500 ranges. Absent where all have. */
  readonly notEnded?: readonly ItemRange[];
  /**
   * Those that the instances at work noted with their last heartbeats, up to 20 s ago. `notEnded` has the others: they
   * wait for their first attempt, or have begun it since. Absent where the run has ended.
   */
  readonly noted?: readonly NotedItem[];
}

/** Items beside each other in the plan: both ends belong to it. */
export interface ItemRange {
  readonly from: number;
  readonly to: number;
}

const RANGES_LIMIT = 500;

/** In characters of JSON: enough for a thousand items that succeeded. */
const LINES_LIMIT = 64 * 1024;

/** The part of an item's end that a listing shows. */
export function itemSummary(end: ItemEnd): Record<string, string> {
  const { state, attempts, durationMs, waitedMs = 0 } = end;
  return {
    state,
    attempts: String(attempts),
    ...(durationMs === undefined ? {} : { took: String(durationMs) }),
    ...(waitedMs === 0 ? {} : { waited: String(waitedMs) }),
    ...(end.state === 'failed' ? { error: asciiJson(firstLine(end.error)) } : {}),
  };
}

/** A stored piece of a run, as a listing shows it. */
interface Piece {
  readonly name: string;
  readonly summary: Readonly<Record<string, string>>;
}

/** The table of a run's items, from a listing of its pieces. Undefined: it has no plan. */
export function itemTable(pieces: readonly Piece[]): ItemTable | undefined {
  const plan = pieces.find(({ name }) => name === PLAN_PIECE);
  if (plan === undefined) return undefined;
  const ends = pieces.flatMap(({ name, summary }) => lineOf(parseItemPiece(name), summary) ?? []);
  const failed = ends.filter(({ state }) => state === 'failed');
  const succeeded = ends.filter(({ state }) => state === 'succeeded');
  const lines: ItemLine[] = [];
  let left = LINES_LIMIT;
  for (const line of [...failed.sort(byIndex), ...succeeded.sort(byIndex)]) {
    left -= asciiJson(line).length + 1;
    if (left < 0) break;
    lines.push(line);
  }
  const planned = Math.max(wholeOf(plan.summary['items']) ?? 0, ends.length);
  const notEnded = rangesBetween(new Set(ends.map(({ index }) => index)), planned);
  return {
    planned,
    succeeded: succeeded.length,
    failed: failed.length,
    lines,
    leftOut: ends.length - lines.length,
    ...(notEnded.length === 0 ? {} : { notEnded }),
  };
}

/** The table of a run in progress, with what the newest heartbeats of its instances list. */
export function itemTableAtWork(pieces: readonly (Piece & LastBeat)[]): ItemTable | undefined {
  const table = itemTable(pieces);
  if (table === undefined) return undefined;
  const token = Math.max(...pieces.map(({ name }) => tokenOfBeat(name) ?? 0));
  const beats = pieces.filter((piece) => tokenOfBeat(piece.name) === token && !isSilent(piece));
  const ended = new Set(pieces.flatMap(({ name, summary }) => lineOf(parseItemPiece(name), summary)?.index ?? []));
  const noted = new Map<number, NotedItem>();
  for (const item of beats.flatMap(({ summary }) => notedItems(summary))) {
    const { attempt = 0, state } = noted.get(item.index) ?? {};
    const isNewer = item.attempt > attempt || (item.attempt === attempt && state === 'retrying');
    if (isNewer && item.index < table.planned && !ended.has(item.index)) noted.set(item.index, item);
  }
  const { notEnded: _, ...rest } = table;
  const others = rangesBetween(new Set([...ended, ...noted.keys()]), table.planned);
  return { ...rest, ...(others.length > 0 && { notEnded: others }), noted: [...noted.values()].sort(byIndex) };
}

function rangesBetween(ended: ReadonlySet<number>, planned: number): readonly ItemRange[] {
  const ranges: ItemRange[] = [];
  for (let index = 0; index < planned && ranges.length < RANGES_LIMIT; index += 1) {
    if (ended.has(index)) continue;
    const from = index;
    while (index + 1 < planned && !ended.has(index + 1)) index += 1;
    ranges.push({ from, to: index });
  }
  return ranges;
}

/** Items for people: `3, 7, 9 to 12`. */
export function showRanges(ranges: readonly ItemRange[], most: number): string {
  const shown = ranges.slice(0, most).map(({ from, to }) => {
    if (to === from) return String(from);
    return to === from + 1 ? `${String(from)}, ${String(to)}` : `${String(from)} to ${String(to)}`;
  });
  return [...shown, ...(ranges.length > most ? ['…'] : [])].join(', ');
}

const isItemLine = objectOf<ItemLine>({
  index: isWhole,
  state: (value) => value === 'succeeded' || value === 'failed',
  attempts: isWhole,
  durationMs: orAbsent(isWhole),
  waitedMs: orAbsent(isWhole),
  error: orAbsent(isText),
});

export const isItemTable = objectOf<Omit<ItemTable, 'noted'>>({
  planned: isWhole,
  succeeded: isWhole,
  failed: isWhole,
  lines: listOf(isItemLine),
  leftOut: isWhole,
  notEnded: orAbsent(listOf(objectOf<ItemRange>({ from: isWhole, to: isWhole }))),
});

/** Undefined: the piece is not an item's, or something else has changed its summary. */
function lineOf(index: number | undefined, summary: Piece['summary']): ItemLine | undefined {
  const { state, attempts, took, waited, error } = summary;
  if (index === undefined || (state !== 'succeeded' && state !== 'failed')) return undefined;
  const text = error === undefined ? undefined : parsedJson(error);
  const optional = { durationMs: wholeOf(took), waitedMs: wholeOf(waited), error: isText(text) ? text : undefined };
  return { index, state, attempts: wholeOf(attempts) ?? 1, ...given(optional) };
}

export function wholeOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function byIndex(a: Pick<ItemLine, 'index'>, b: Pick<ItemLine, 'index'>): number {
  return a.index - b.index;
}
