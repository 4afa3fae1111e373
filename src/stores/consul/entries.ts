import { type Condition, type Entries, type Head, type HeadData, etagOf, headOf, pageOf } from '../port';
import type { Ask, Calls } from './ask';
import { bodyIn, bodyOperations } from './bodies';
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
      return ask({ ...question, isNothing: (etag) => etag === undefined }, async (calls) => {
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
      ask({ ...question, isNothing: (wasThere) => !wasThere }, async (calls) => {
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
