import type { JobName } from '../../core/brand';
import { type LogEntry, type Progress, parseEntries, linesOf } from '../../core/log-entry';
import type { LedgerRecord } from '../../core/record';
import { errorTrace, mapTexts, userFrames } from '../../core/recorded-error';
import type { LedgerStore, ListedLog, LogStore } from '../../lease/store';
import { inParallel } from '../../core/in-parallel';
import { OperatorError } from '../operator-error';
import { pagesOf } from '../../lease/pages';
import { readUnlessForeign } from '../../coordinator/ledger';

/** The most logs that are read together. A run that fans out may have thousands. */
const LOGS_AT_MOST = 200;
/** The most names that are listed, with all that are left out. */
const NAMES_AT_MOST = 20_000;
const NAMES_A_PAGE = 5_000;
/** Where cronlease lies in an app is not known here, and no path has it: frames of packages are left out anyway. */
const NO_FOLDER = '\n';
/** The bytes of one page, unless the request says otherwise. */
const PAGE_BYTES = 512 * 1024;
/** More than any line of a log, so that each read has a whole line at least. */
const LEAST_BYTES = 128 * 1024;

export interface LogRequest {
  /** `next` of the page before. Undefined: from the beginning. */
  readonly from?: string | undefined;
  /** Only the log of this item of a fan-out. */
  readonly item?: number | undefined;
  /** The caller knows that the run is over, whether or not its record still exists. */
  readonly isOver?: boolean;
  /** About how many bytes to read. */
  readonly bytes?: number;
}

/** What an attempt threw. It stands behind all that the attempt said, and `n` is the number of its last line. */
export interface ThrownError extends Pick<LogEntry, 'n' | 'at' | 'attempt'> {
  readonly item?: undefined;
  /** The error with its causes and inner errors, each with the frames of the job's own code. */
  readonly error: string;
}

/** An entry with the token of the attempt that said it, or whose items did. */
export type TokenedEntry = (LogEntry | ThrownError) & { readonly token: number };

export interface LogPage {
  /** In order: by attempt, and within it by time. */
  readonly entries: readonly TokenedEntry[];
  readonly next: string;
  /** The run has ended, and this is the last page. */
  readonly ended: boolean;
  /** The last progress of the run, if its record or this page has one. */
  readonly progress: Progress | undefined;
  /** How many logs of items were left out: `item` reads those of one. */
  readonly leftOut: number;
}

/**
 * One page of what a run has said so far, over all its attempts. To follow a run, ask again from `next` until it has
 * ended: that costs two storage calls, and one more for each log that has grown. Throws `OperatorError` `BadCursor`.
 */
export async function readLog(
  store: LedgerStore & LogStore,
  job: JobName,
  key: string,
  { from, item, isOver = false, bytes = PAGE_BYTES }: LogRequest = {},
): Promise<LogPage> {
  const cursor = readCursor(from);
  // The record first: what its writer has appended before is then found in the logs.
  const record = await finalRecordOf(store, job, key);
  const found = record?.log?.kept === 'inline' ? [] : await logsOf(store, job, key, item);
  const logs = found.slice(0, LOGS_AT_MOST);
  const parts = partsOf(logs, cursor, bytes);
  const texts = await inParallel(parts, ({ log, start, length }) =>
    store.readLog(job, key, log.name, { from: start, limit: length }),
  );
  const entries: TokenedEntry[] = [];
  let isAll = true;
  for (const [index, { log, start }] of parts.entries()) {
    const text = wholeLines(texts[index] ?? '', start, log.bytes);
    const read = parseEntries(text);
    entries.push(...read.map((entry) => ({ ...entry, token: log.token })));
    cursor.logs.set(log.name, { at: start + text.length, n: lastNumber(read) ?? cursor.logs.get(log.name)?.n ?? 0 });
  }
  for (const { name, bytes: size } of logs) isAll &&= (cursor.logs.get(name)?.at ?? 0) >= size;
  if (record !== undefined && isAll && !cursor.hasRecord && item === undefined) {
    cursor.hasRecord = true;
    entries.push(...unseenOf(record, cursor), ...errorsOf(record, cursor));
  }
  forgetOthers(cursor, logs);
  return {
    entries: inOrder(entries),
    next: writeCursor(cursor),
    ended: (isOver || record !== undefined) && isAll,
    progress: record?.progress ?? lastProgress(entries),
    leftOut: found.length - logs.length,
  };
}

/** Of many items others may have begun since, in front of those that were shown, which are left out then. */
function forgetOthers({ logs: read }: Cursor, logs: readonly NamedLog[]): void {
  const shown = new Set(logs.map(({ name }) => name));
  for (const name of read.keys()) if (!shown.has(name)) read.delete(name);
}

/** Of an attempt: items have their own. */
function lastProgress(entries: readonly TokenedEntry[]): Progress | undefined {
  return entries.flatMap((entry) => ('progress' in entry && entry.item === undefined ? [entry.progress] : [])).at(-1);
}

/** By attempt, and within it by time. Clocks are set back: the lines of one speaker keep their order all the same. */
export function inOrder(entries: readonly TokenedEntry[]): readonly TokenedEntry[] {
  const latest = new Map<string, number>();
  return entries
    .map((entry) => {
      const speaker = [entry.token, entry.item, entry.attempt].join(' ');
      const at = Math.max(Date.parse(entry.at), latest.get(speaker) ?? 0);
      latest.set(speaker, at);
      return { entry, at };
    })
    .toSorted((a, b) => a.entry.token - b.entry.token || a.at - b.at)
    .map(({ entry }) => entry);
}

async function finalRecordOf(
  store: LedgerStore,
  job: JobName,
  key: string,
): Promise<Pick<LedgerRecord, 'log' | 'progress' | 'token' | 'attempts'> | undefined> {
  const found = await readUnlessForeign(store, job, key);
  // It stands in the place of a final record. The logs are there all the same.
  if (found === 'foreign') return { token: null, attempts: [] };
  return found?.record.state === 'final' ? found.record : undefined;
}

interface NamedLog extends ListedLog {
  readonly token: number;
  readonly item: number | undefined;
}

/** The logs of a run: those of attempts first, then those of items. */
async function logsOf(
  store: LogStore,
  job: JobName,
  key: string,
  item: number | undefined,
): Promise<readonly NamedLog[]> {
  const found: NamedLog[] = [];
  let seen = 0;
  for await (const { logs } of pagesOf((from) => store.listLogs(job, key, { limit: NAMES_A_PAGE, ...from }))) {
    for (const log of logs) {
      const [, token, index] = /^(\d{1,15})(?:-(\d{1,15})-\d+-[0-9a-z]+)?$/.exec(log.name) ?? [];
      // Something else wrote the others.
      if (token === undefined) continue;
      found.push({ ...log, token: Number(token), item: index === undefined ? undefined : Number(index) });
    }
    seen += logs.length;
    if (seen >= NAMES_AT_MOST) break;
  }
  return found
    .filter((log) => item === undefined || log.item === item)
    .toSorted((a, b) => (a.item ?? -1) - (b.item ?? -1) || a.token - b.token);
}

/** What to read of which log, within so many bytes. */
function partsOf(logs: readonly NamedLog[], cursor: Cursor, bytes: number) {
  let left = bytes;
  return logs.flatMap((log) => {
    const start = cursor.logs.get(log.name)?.at ?? 0;
    if (log.bytes <= start || left <= 0) return [];
    const length = Math.min(log.bytes - start, Math.max(left, LEAST_BYTES));
    left -= length;
    return [{ log, start, length }];
  });
}

/** The text without a last line that goes on behind it. What has no line end at all is none of cronlease's. */
function wholeLines(text: string, start: number, size: number): string {
  const end = text.lastIndexOf('\n') + 1;
  return end === 0 || start + text.length >= size ? text : text.slice(0, end);
}

/** The record's entries that were not read from the log of its attempt: a write that was under way may have both. */
function unseenOf({ log, token }: Pick<LedgerRecord, 'log' | 'token'>, cursor: Cursor): readonly TokenedEntry[] {
  const last = cursor.logs.get(String(token))?.n ?? 0;
  return (log?.entries ?? []).flatMap((entry) => {
    const unseen = after(entry, last);
    return unseen === undefined ? [] : [{ ...unseen, token: token ?? 0 }];
  });
}

/** What the attempts threw. The record has it without secrets, and cut. */
function errorsOf({ attempts, log }: Pick<LedgerRecord, 'attempts' | 'log'>, cursor: Cursor): readonly TokenedEntry[] {
  return attempts.flatMap(({ attempt, token, error, endedAt }) => {
    if (error === null || endedAt === null) return [];
    const inRecord = log?.entries.filter((entry) => entry.attempt === attempt && entry.item === undefined) ?? [];
    const n = Math.max(cursor.logs.get(String(token))?.n ?? 0, lastNumber(inRecord) ?? 0);
    const own = mapTexts(error, (text) => userFrames(text, NO_FOLDER));
    return [{ n, at: endedAt, attempt, token, error: errorTrace(own) }];
  });
}

/** What of an entry comes after this line: of a gap, some of its lines may. */
function after(entry: LogEntry, line: number): LogEntry | undefined {
  if (linesOf(entry) === 0 || entry.n > line) return entry;
  const lines = entry.n + linesOf(entry) - 1 - line;
  return 'gap' in entry && lines > 0 ? { ...entry, n: line + 1, gap: { ...entry.gap, lines } } : undefined;
}

function lastNumber(entries: readonly LogEntry[]): number | undefined {
  const last = entries.findLast((entry) => linesOf(entry) > 0);
  return last && last.n + linesOf(last) - 1;
}

/** How far each log was read, and the number of its last line. */
interface Cursor {
  readonly logs: Map<string, { readonly at: number; readonly n: number }>;
  hasRecord: boolean;
}

function writeCursor({ logs, hasRecord }: Cursor): string {
  const parts = [...logs].map(([name, { at, n }]) => [name, at, n].join('.'));
  return [hasRecord ? 'r' : '', ...parts].join('_');
}

function readCursor(text = ''): Cursor {
  const [mark = '', ...parts] = text.split('_');
  const logs = parts.map((part): [string, { at: number; n: number }] => {
    const [, name = '', at, n] = /^([0-9a-z-]{1,80})\.(\d{1,12})\.(\d{1,12})$/.exec(part) ?? [];
    return [name, { at: Number(at), n: Number(n) }];
  });
  if (!/^r?$/.test(mark) || logs.length > LOGS_AT_MOST || logs.some(([name]) => name === '')) {
    throw new OperatorError(
      'BadCursor',
      `${JSON.stringify(text.slice(0, 100))} is not a place in a log: use "next" of the previous page, or omit it`,
    );
  }
  return { logs: new Map(logs), hasRecord: mark === 'r' };
}
