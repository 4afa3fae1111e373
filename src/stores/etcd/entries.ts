import { randomBytes } from 'node:crypto';
import type { Millis } from '../../core/brand';
import type { CallOptions, Retention } from '../../lease/store';
import { BODY_BYTES } from '../limits';
import {
  afterPrefix,
  type Condition,
  type Entries,
  type EntriesQuestion,
  etagOf,
  type Head,
  headOf,
  type Kept,
  keptIn,
  type Logs,
  pageOf,
} from '../port';
import type { Ask } from './ask';
import type { EntryKeys, Keys } from './keys';
import { only, revisionOf } from './rows';
import {
  afterKey,
  all,
  type Compare,
  get,
  hasRevision,
  hasValue,
  isAbsent,
  isAsOld,
  isThere,
  keep,
  type KeyValue,
  type Operation,
  put,
  range,
  remove,
  removeRange,
  type TransactionAnswer,
} from './wire';

/** A request may have 1.5 MB, unless the cluster's max-request-bytes is another. */
export const PART_BYTES = 1024 * 1024;

/** The parts of a body that nothing refers to are removed after this long. */
const UPLOAD_SECONDS = 600;

/** What a body's value begins with: the body itself, or the name and number of its parts. */
const WHOLE = '=';
const PARTS = '+';

export function entriesIn(ask: Ask): Entries<EntryKeys> {
  return {
    async put({ id, condition, metadata, body, ...question }) {
      const { heads, bodies } = question.keys;
      const at = await ask.now(question.options);
      const uploaded = body === undefined ? [] : await bodyOperations(ask, question, `${bodies}${id}`, body);
      const { succeeded, revision } = await ask.transact(question, {
        compare: comparesOf(`${heads}${id}`, condition),
        success: [put(`${heads}${id}`, JSON.stringify({ at, metadata })), ...uploaded],
      });
      return succeeded ? etagOf(revision) : undefined;
    },
    async get({ id, ...question }) {
      const { heads, bodies } = question.keys;
      const success = [get(`${heads}${id}`), get(`${bodies}${id}`)];
      const isNothing = (answer: TransactionAnswer): boolean => answer.found[0]?.kvs.length === 0;
      const { date: now, found } = await ask.transact(question, { success }, isNothing);
      const [head, body] = found.map(only);
      if (head === undefined) return { now, head: undefined, body: undefined };
      return { now, head: headIn(head), body: body && (await wholeOf(ask, question, body)) };
    },
    async page({ prefix = '', limit, continuation, keys: { heads }, ...question }) {
      const isFirst = continuation === undefined || continuation < prefix;
      const from = isFirst ? `${heads}${prefix}` : afterKey(`${heads}${continuation}`);
      const success = [range({ from, to: afterPrefix(`${heads}${prefix}`), limit: limit + 1 })];
      const { date: now, found: ranges } = await ask.transact(question, { success });
      const found = (ranges[0]?.kvs ?? []).map((kv) => ({ id: kv.key.slice(heads.length), ...headIn(kv) }));
      return { now, ...pageOf(found, limit) };
    },
    async all({ keys: { heads }, ...question }) {
      const { date: now, found } = await ask.transact(question, { success: [all(heads)] });
      return { now, found: new Map(found[0]?.kvs.map((kv) => [kv.key.slice(heads.length), headIn(kv)])) };
    },
    async remove({ id, ifMatch, keys, ...question }) {
      const condition = ifMatch === undefined ? 'there' : { version: ifMatch };
      const compare = comparesOf(`${keys.heads}${id}`, condition);
      return (await ask.transact(question, { compare, success: removalOf(keys, id) })).succeeded;
    },
  };
}

function comparesOf(key: string, condition: Condition): Compare[] {
  switch (condition) {
    case 'absent':
      return [isAbsent(key)];
    case 'there':
      return [isThere(key)];
    case 'any':
      return [];
    default:
      return [hasRevision(key, revisionOf(condition.version))];
  }
}

/** All keys of an entry: its head, its body and the parts of that. */
export function removalOf({ heads, bodies }: EntryKeys, id: string) {
  return [
    remove(`${heads}${id}`),
    remove(`${bodies}${id}`),
    removeRange(`${bodies}${id}/`, afterPrefix(`${bodies}${id}/`)),
  ];
}

/**
 * Writes a body that is too long for one request in parts, which end by themselves unless the operations returned take
 * place.
 */
async function bodyOperations(ask: Ask, question: EntriesQuestion<EntryKeys>, key: string, body: string) {
  const bytes = Buffer.from(body);
  if (bytes.length <= PART_BYTES) return [put(key, `${WHOLE}${body}`)];
  const name = randomBytes(9).toString('base64url');
  const count = Math.ceil(bytes.length / PART_BYTES);
  const parts = Array.from({ length: count }, (_, index) => partKey(key, name, index));
  const { lease } = await ask.grant(question, UPLOAD_SECONDS);
  for (const [index, part] of parts.entries()) {
    const piece = bytes.subarray(index * PART_BYTES, (index + 1) * PART_BYTES).toString('base64');
    await ask.transact(question, { success: [put(part, piece, lease)] });
  }
  return [put(key, `${PARTS}${name} ${String(count)}`), ...parts.map(keep)];
}

function partKey(key: string, name: string, index: number): string {
  return `${key}/${name}/${String(index).padStart(4, '0')}`;
}

/** Undefined: it is larger than any that cronlease writes. */
async function wholeOf(
  ask: Ask,
  { what, kind, options }: EntriesQuestion<EntryKeys>,
  { key, value }: KeyValue,
): Promise<string | undefined> {
  if (value.startsWith(WHOLE)) return value.slice(WHOLE.length);
  const [name = '', count = ''] = value.slice(PARTS.length).split(' ');
  if (Number(count) > BODY_BYTES / PART_BYTES + 1) return undefined;
  const { found } = await ask.transact({ what, kind, options }, { success: [all(`${key}/${name}/`)] });
  const parts = found[0]?.kvs ?? [];
  if (parts.length !== Number(count)) throw new Error(`${key} was replaced while it was read`);
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part.value, 'base64')));
  return bytes.length > BODY_BYTES ? undefined : bytes.toString('utf8');
}

export function headIn({ key, value, mod }: KeyValue): Head {
  return headOf(key, value, mod);
}

/** At most so many entries in one call. */
const BATCH = 1_000;
/** A transaction has at most 128 operations, unless the cluster's max-txn-ops is another. */
const RANGES = 100;
const REMOVALS = 40;
/** A mark this young is enough. */
const MARK_EVERY_MS = 10 * 60_000;

/** What is older than its keep, and has not been written since. */
interface Old {
  readonly head: string;
  readonly revision: string;
  readonly removal: readonly Operation[];
}

/**
 * What a lifecycle rule does for blobs. etcd finds keys by the revision of their last write, and has no time: each call
 * marks which revision was the newest at its time, so an entry is deleted up to an hour after its time.
 */
export function purgeIn(ask: Ask, { entries, marks }: Pick<Keys, 'entries' | 'marks'>): Retention['purge'] {
  return async (keep, options) => {
    const revisionBefore = await mark(ask, marks, keep.longestMs, options);
    const kept = keptIn(entries, keep);
    const old: Old[] = [];
    for (let from = 0; from < kept.length && old.length <= BATCH; from += RANGES) {
      old.push(...(await oldAmong(ask, kept.slice(from, from + RANGES), revisionBefore, options)));
    }
    const now = old.slice(0, BATCH);
    for (let from = 0; from < now.length; from += REMOVALS) {
      const some = now.slice(from, from + REMOVALS);
      const compare = some.map(({ head, revision }) => isAsOld(head, revision));
      const success = some.flatMap(({ removal }) => removal);
      await ask.transact({ what: 'delete old entries', kind: 'delete', options }, { compare, success });
    }
    return old.length > BATCH ? 'more' : 'done';
  };
}

type RevisionBefore = (keepMs: Millis) => string | undefined;

/** Marks this moment, and removes the marks that no deployment needs. */
async function mark(
  ask: Ask,
  marks: string,
  longest: Millis,
  options: CallOptions | undefined,
): Promise<RevisionBefore> {
  const question = { what: 'mark the time', kind: 'listing', options } as const;
  const { found } = await ask.transact(question, { success: [all(marks)] });
  const now = await ask.now(options);
  const seen = (found[0]?.kvs ?? []).map(({ key, mod }) => ({ at: Number(key.slice(marks.length)), mod }));
  const keyAt = (at: number): string => `${marks}${String(at).padStart(15, '0')}`;
  const before = (keepMs: Millis) => seen.findLast(({ at }) => at <= now - keepMs);
  const needed = before(longest)?.at ?? 0;
  if ((seen.at(-1)?.at ?? 0) <= now - MARK_EVERY_MS) {
    const success = [put(keyAt(now), ''), removeRange(marks, keyAt(Math.min(needed, now)))];
    await ask.transact({ ...question, kind: 'write' }, { success });
  }
  return (keepMs) => before(keepMs)?.mod;
}

async function oldAmong(
  ask: Ask,
  kept: readonly Kept<EntryKeys>[],
  revisionBefore: RevisionBefore,
  options: CallOptions | undefined,
): Promise<Old[]> {
  const due = kept.flatMap((one) => {
    const revision = revisionBefore(one.keepMs);
    return revision === undefined ? [] : [{ ...one, revision }];
  });
  if (due.length === 0) return [];
  const ranges = due.map(({ keys: { heads }, revision }) =>
    range({ from: heads, to: afterPrefix(heads), keysOnly: true, mostRevision: revision, limit: BATCH + 1 }),
  );
  const { found } = await ask.transact({ what: 'look for old entries', kind: 'listing', options }, { success: ranges });
  return due.flatMap(({ keys, revision }, index) =>
    (found[index]?.kvs ?? []).map(({ key: head }) => ({
      head,
      revision,
      removal: removalOf(keys, head.slice(keys.heads.length)),
    })),
  );
}

/** No log is as long. */
const FAR = 10 ** 14;

/** The keys of one log. */
function logOf({ heads, bodies }: EntryKeys, id: string) {
  return {
    head: `${heads}${id}`,
    textAt: (place: number) => `${bodies}${id}/${String(Math.min(place, FAR)).padStart(15, '0')}`,
  };
}

/** A log's text lies in keys that are never rewritten. What lies beyond its length belongs to an append that failed. */
export function logsIn(ask: Ask): Logs<EntryKeys> {
  return {
    async create({ keys, id, ...question }) {
      const { head } = logOf(keys, id);
      return (await ask.transact(question, { compare: [isAbsent(head)], success: [put(head, '0')] })).succeeded;
    },
    async append({ keys, id, text, at, ...question }) {
      const { head, textAt } = logOf(keys, id);
      for (let from = 0; from < text.length; from += PART_BYTES) {
        const part = text.slice(from, from + PART_BYTES);
        const place = textAt(at + from);
        const { succeeded } = await ask.transact(question, {
          compare: [hasValue(head, String(at))],
          success: [
            put(place, part),
            removeRange(afterKey(place), afterKey(textAt(FAR))),
            ...(from + part.length === text.length ? [put(head, String(at + text.length))] : []),
          ],
        });
        if (!succeeded) return false;
      }
      return true;
    },
    async read({ keys, id, from, limit, ...question }) {
      const { head, textAt } = logOf(keys, id);
      const after = afterKey(textAt(from));
      const success = [
        get(head),
        // The text in which the first byte lies.
        range({ from: textAt(0), to: after, last: true, limit: 1 }),
        range({ from: after, to: textAt(from + limit) < after ? after : afterKey(textAt(from + limit)) }),
      ];
      const { found } = await ask.transact(question, { success }, (answer) => answer.found[0]?.kvs.length === 0);
      const length = only(found[0])?.value;
      if (length === undefined) return undefined;
      const texts = [...(found[1]?.kvs ?? []), ...(found[2]?.kvs ?? [])];
      const start = Number(texts[0]?.key.slice(-15) ?? 0);
      const end = Math.min(Number(length), from + limit);
      return texts
        .map(({ value }) => value)
        .join('')
        .slice(Math.max(0, from - start), Math.max(0, end - start));
    },
    async page({ keys: { heads }, prefix, limit, continuation, ...question }) {
      const from = continuation === undefined ? `${heads}${prefix}` : afterKey(`${heads}${continuation}`);
      const success = [range({ from, to: afterPrefix(`${heads}${prefix}`), limit: limit + 1 })];
      const found = (await ask.transact(question, { success })).found[0]?.kvs ?? [];
      return pageOf(
        found.map(({ key, value }) => ({ id: key.slice(heads.length), bytes: Number(value) })),
        limit,
      );
    },
  };
}
