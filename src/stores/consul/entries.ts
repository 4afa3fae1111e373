import { randomUUID } from 'node:crypto';
import type { EpochMs, Millis } from '../../core/brand';
import type { CallOptions, Retention } from '../../lease/store';
import { BODY_BYTES } from '../limits';
import {
  type Condition,
  type Entries,
  etagOf,
  type Facet,
  type Head,
  type HeadData,
  headOf,
  type Kept,
  keptIn,
  pageOf,
} from '../port';
import type { Ask, Calls } from './ask';
import { bodyKey, type EntryKeys, headKey, idIn, type Keys, mayHold, startIn } from './keys';
import { indexOf } from './rows';
import {
  create,
  get,
  hasIndex,
  type KeyValue,
  type Operation,
  OPERATIONS,
  remove,
  removeTree,
  replace,
  set,
  tree,
} from './wire';

/** One operation of each transaction is the check of the container. */
const DIVISIONS_AT_ONCE = OPERATIONS - 4;

export function entriesIn(ask: Ask, places: Keys): Entries<EntryKeys> {
  return {
    async put({ id, keys, condition, metadata, body, ...question }) {
      const key = headKey(keys, id);
      return ask(question, async (calls) => {
        const at = await calls.now();
        const head: HeadData = { at, metadata };
        const bodies = body === undefined ? [] : await bodyOperations(calls, places, { keys, id, body, at });
        const { found } = await calls.transact(...headOperations(key, condition, JSON.stringify(head)), ...bodies);
        const written = found?.findLast((kv) => kv.key === key);
        return written && etagOf(String(written.index));
      });
    },
    get: ({ id, keys, ...question }) =>
      ask({ ...question, isNothing: ({ head }) => head === undefined }, async (calls) => {
        const [key, body] = [headKey(keys, id), bodyKey(keys, id)];
        const { date: now, found = [] } = await calls.transact(tree(key), tree(body));
        const head = headAt(key, found);
        return { now, head, body: head && bodyIn(body, found) };
      }),
    page: ({ keys, prefix = '', limit, continuation = '', ...question }) =>
      ask(question, async (calls) => {
        const { now, heads } = await headsFrom(calls, keys, { prefix, after: continuation, enough: limit + 1 });
        const found = heads.map(({ key, ...head }) => ({ id: idIn(keys, key), ...head }));
        return { now, ...pageOf(found, limit) };
      }),
    all: ({ keys, ...question }) =>
      ask(question, async (calls) => {
        const { date: now, found = [] } = await calls.transact(tree(keys.heads));
        return { now, found: new Map(found.map((kv) => [idIn(keys, kv.key), headIn(kv)])) };
      }),
    remove: ({ id, keys, ifMatch, ...question }) =>
      ask(question, async (calls) => {
        const key = headKey(keys, id);
        const check = ifMatch === undefined ? get(key) : hasIndex({ key, index: indexOf(ifMatch) });
        const { found } = await calls.transact(check, ...removalOf(keys, id));
        return found !== undefined;
      }),
  };
}

function headOperations(key: string, condition: Condition, value: string): readonly Operation[] {
  switch (condition) {
    case 'absent':
      return [create(key, value)];
    case 'there':
      return [get(key), set(key, value)];
    case 'any':
      return [set(key, value)];
    default:
      return [replace({ key, index: indexOf(condition.version) }, value)];
  }
}

/** An entry with its body and the parts of that. */
export function removalOf(keys: EntryKeys, id: string): readonly Operation[] {
  return [remove(headKey(keys, id)), removeTree(bodyKey(keys, id))];
}

/** The divisions of a kind, in order, by their keys. */
export async function divisionsOf(calls: Calls, { heads }: EntryKeys): Promise<readonly string[]> {
  const starts = (await calls.branches(heads)).map((key) => ({ key, start: startIn(heads, key) }));
  return starts.toSorted((a, b) => (a.start < b.start ? -1 : 1)).map(({ key }) => key);
}

interface Wanted {
  readonly prefix: string;
  readonly after: string;
  readonly enough: number;
}

/**
 * The heads in order of id, from division after division: of more at once each time, because it is not known how many
 * heads one has.
 */
export async function headsFrom(calls: Calls, keys: EntryKeys, { prefix, after, enough }: Wanted) {
  const all = await divisionsOf(calls, keys);
  const divisions = all.filter((key) => mayHold(startIn(keys.heads, key), prefix, after));
  const heads: (Head & { readonly key: string })[] = [];
  let now = Infinity;
  let from = 0;
  for (let count = 1; heads.length < enough && (from === 0 || from < divisions.length); count *= 2) {
    const some = divisions.slice(from, from + Math.min(count, DIVISIONS_AT_ONCE));
    // Even without any, the container must be there.
    const { date, found = [] } = await calls.transact(...some.map(tree));
    now = Math.min(now, date);
    const wanted = found.map((kv) => ({ id: idIn(keys, kv.key), kv }));
    const inOrder = wanted
      .filter(({ id }) => id.startsWith(prefix) && (after === '' || id > after))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
    heads.push(...inOrder.map(({ kv }) => ({ key: kv.key, ...headIn(kv) })));
    from += Math.max(1, some.length);
  }
  return { now, heads };
}

function headAt(key: string, found: readonly KeyValue[]): Head | undefined {
  const kv = found.find((one) => one.key === key);
  return kv && headIn(kv);
}

export function headIn({ key, value, index }: KeyValue): Head {
  return headOf(key, value, String(index));
}

/** A transaction may have 512 KB, and so may a value, both in base64. */
export const PART_BYTES = 256 * 1024;

/** What a body's value begins with: the body itself, or the name and number of its parts, which lie below it. */
const WHOLE = '=';
const PARTS = '+';

/** What is known of a body that is being written in parts, by the name of the parts. */
interface Upload {
  readonly at: EpochMs;
  readonly body: string;
}

/**
 * The operations that write a body with its entry. What is too long for one transaction is written in parts before,
 * with a note for retention, which the operations remove.
 */
export async function bodyOperations(
  calls: Calls,
  { uploads }: Keys,
  {
    keys,
    id,
    body,
    at,
  }: { readonly keys: EntryKeys; readonly id: string; readonly body: string; readonly at: EpochMs },
): Promise<readonly Operation[]> {
  const key = bodyKey(keys, id);
  const bytes = Buffer.from(body);
  if (bytes.length <= PART_BYTES) return [removeTree(key), set(key, `${WHOLE}${body}`)];
  const name = randomUUID();
  const note = `${uploads}${name}/`;
  const upload: Upload = { at, body: key };
  await calls.transact(create(note, JSON.stringify(upload)));
  const count = Math.ceil(bytes.length / PART_BYTES);
  for (let index = 0; index < count; index += 1) {
    const part = bytes.subarray(index * PART_BYTES, (index + 1) * PART_BYTES).toString('base64');
    await calls.transact(set(partKey(key, name, index), part));
  }
  return [set(key, `${PARTS}${name} ${String(count)}`), remove(note)];
}

function partKey(key: string, name: string, index: number): string {
  return `${key}${name}/${String(index).padStart(4, '0')}/`;
}

/** Undefined: there is none, or it is larger than any that cronlease writes. */
export function bodyIn(key: string, found: readonly KeyValue[]): string | undefined {
  const values = new Map(found.map((kv) => [kv.key, kv.value]));
  const value = values.get(key);
  if (value === undefined || value.startsWith(WHOLE)) return value?.slice(WHOLE.length);
  const [name = '', count = ''] = value.slice(PARTS.length).split(' ');
  const parts = Array.from({ length: Number(count) }, (_, index) => values.get(partKey(key, name, index)));
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part ?? '', 'base64')));
  return bytes.length > BODY_BYTES || parts.includes(undefined) ? undefined : bytes.toString('utf8');
}

/** The parts that were written long ago for an entry that never was: removed, with the notes of them. */
export function abandoned({ uploads }: Keys, found: readonly KeyValue[], before: EpochMs): readonly Operation[] {
  return found.flatMap(({ key, value }) => {
    const { at, body } = JSON.parse(value) as Upload;
    return at > before ? [] : [removeTree(`${body}${key.slice(uploads.length)}`), remove(key)];
  });
}

/** At most so many entries in one call. */
const BATCH = 1_000;
/** Three operations remove an entry, and one checks the container. */
const REMOVALS = Math.floor((OPERATIONS - 4) / 3);
const PURGED_AT_ONCE = 16;
/** A body has its entry within the time of a call. */
const ABANDONED_MS = 3_600_000;

/** What a lifecycle rule does for blobs. The age of an entry is by the time in its head. */
export function purgeIn(ask: Ask, keys: Keys): Retention['purge'] {
  return async (keep, options) => {
    let left = BATCH;
    for (const kept of keptIn(keys.entries, keep)) {
      left -= await purgeKind(ask, kept, left, options);
      if (left <= 0) return 'more';
    }
    await ask({ what: 'delete bodies without entries', kind: 'delete', options }, async (calls) => {
      const { date, found = [] } = await calls.transact(tree(keys.uploads));
      await inParts(calls, abandoned(keys, found, date - ABANDONED_MS), 2);
    });
    return 'done';
  };
}

/** Whose ids count down in time, so that the oldest are last. */
const IN_ORDER: readonly Facet[] = ['records', 'logs', 'audits'];

/** @returns how many entries were removed */
async function purgeKind(
  ask: Ask,
  { facet, keys, keepMs }: Kept<EntryKeys>,
  limit: number,
  options: CallOptions | undefined,
): Promise<number> {
  const question = { what: 'delete old entries', kind: 'delete', options } as const;
  const divisions = (await ask(question, (calls) => divisionsOf(calls, keys))).toReversed();
  let removed = 0;
  for (let from = 0; from < divisions.length && removed < limit; from += PURGED_AT_ONCE) {
    const some = divisions.slice(from, from + PURGED_AT_ONCE);
    const count = await ask(question, (calls) => purgeDivisions(calls, keys, some, keepMs, limit - removed));
    removed += count;
    // Those that were written out of turn wait until what is beside them is old.
    if (count === 0 && IN_ORDER.includes(facet)) break;
  }
  return removed;
}

async function purgeDivisions(
  calls: Calls,
  keys: EntryKeys,
  divisions: readonly string[],
  keepMs: Millis,
  limit: number,
): Promise<number> {
  const { date, found = [] } = await calls.transact(...divisions.map(tree));
  const isOld = (at: EpochMs): boolean => at < date - keepMs;
  const old = found.filter(({ value }) => isOld((JSON.parse(value) as { readonly at: EpochMs }).at)).slice(0, limit);
  // What was written meanwhile stays, with what is beside it, until the next time.
  const operations = old.flatMap((head) => [hasIndex(head), ...removalOf(keys, idIn(keys, head.key))]);
  await inParts(calls, operations, 3);
  return old.length;
}

/** @param each the number of operations that belong together */
async function inParts(calls: Calls, operations: readonly Operation[], each: number): Promise<void> {
  const size = REMOVALS * each;
  for (let from = 0; from < operations.length; from += size)
    await calls.transact(...operations.slice(from, from + size));
}
