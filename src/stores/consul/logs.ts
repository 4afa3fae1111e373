import { randomUUID } from 'node:crypto';
import type { EpochMs } from '../../core/brand';
import { DISTURBED } from '../lease-automaton';
import { type Logs, pageOf, type TextRange, textsWithin } from '../port';
import { type Ask, type Calls, untilUndisturbed } from './ask';
import { divisionsOf, PART_BYTES } from './entries';
import { bodyKey, type EntryKeys, headKey, idIn, mayHold, startIn } from './keys';
import { create, get, hasIndex, type KeyValue, OPERATIONS, replace, set, tree } from './wire';

/** What a log's head has: its texts in order, each in its own key that is never rewritten. */
interface LogData {
  readonly at: EpochMs;
  readonly texts: readonly (readonly [name: string, bytes: number])[];
}

const TEXTS_AT_ONCE = OPERATIONS - 4;

export function logsIn(ask: Ask): Logs<EntryKeys> {
  return {
    create: ({ keys, id, ...question }) =>
      ask(question, async (calls) => {
        const data = dataOf({ at: await calls.now(), texts: [] });
        return (await calls.transact(create(headKey(keys, id), data))).found !== undefined;
      }),
    append: ({ keys, id, text, at, ...question }) =>
      ask(question, async (calls) => {
        const seen = await headAt(calls, headKey(keys, id));
        const log = seen && logIn(seen);
        if (seen === undefined || log === undefined || bytesOf(log) !== at) return false;
        const added: (readonly [name: string, bytes: number])[] = [];
        for (let from = 0; from < text.length; from += PART_BYTES) {
          const part = text.slice(from, from + PART_BYTES);
          const name = randomUUID();
          added.push([name, part.length]);
          const put = set(`${bodyKey(keys, id)}${name}/`, part);
          if (from + part.length < text.length) {
            await calls.transact(hasIndex(seen), put);
            continue;
          }
          const data = dataOf({ at: await calls.now(), texts: [...log.texts, ...added] });
          return (await calls.transact(replace(seen, data), put)).found !== undefined;
        }
        return false;
      }),
    read: ({ keys, id, from, limit, ...question }) =>
      ask(question, (calls) =>
        untilUndisturbed(async () => {
          const seen = await headAt(calls, headKey(keys, id));
          return seen && readRange(calls, bodyKey(keys, id), logIn(seen), { from, limit });
        }),
      ),
    page: ({ keys, prefix, limit, continuation = '', ...question }) =>
      ask(question, async (calls) => {
        const found = await headsOf(calls, keys, prefix);
        const named = found.map((kv) => ({ id: idIn(keys, kv.key), bytes: bytesOf(logIn(kv)) }));
        const wanted = named.filter(({ id }) => continuation === '' || id > continuation);
        const inOrder = wanted.toSorted((a, b) => (a.id < b.id ? -1 : 1));
        return pageOf(inOrder, limit);
      }),
  };
}

async function headAt(calls: Calls, head: string): Promise<KeyValue | undefined> {
  const { found = [] } = await calls.transact(tree(head));
  return found.find(({ key }) => key === head);
}

/** The heads of one run's logs, which are few. */
async function headsOf(calls: Calls, keys: EntryKeys, prefix: string): Promise<readonly KeyValue[]> {
  const divisions = (await divisionsOf(calls, keys)).filter((key) => mayHold(startIn(keys.heads, key), prefix, ''));
  // Even without any, the container must be there.
  const { found = [] } = await calls.transact(...divisions.map((division) => tree(`${division}${prefix}`)));
  return found;
}

/** {@link DISTURBED}: retention has deleted a text meanwhile. */
async function readRange(
  calls: Calls,
  place: string,
  { texts }: LogData,
  range: TextRange,
): Promise<string | typeof DISTURBED> {
  const { names, cut } = textsWithin(texts, range);
  let text = '';
  for (let at = 0; at < names.length; at += TEXTS_AT_ONCE) {
    const some = names.slice(at, at + TEXTS_AT_ONCE);
    const { found } = await calls.transact(...some.map((name) => get(`${place}${name}/`)));
    if (found === undefined) return DISTURBED;
    text += found.map(({ value }) => value).join('');
  }
  return cut(text);
}

function bytesOf({ texts }: LogData): number {
  return texts.reduce((sum, [, bytes]) => sum + bytes, 0);
}

function logIn({ value }: KeyValue): LogData {
  return JSON.parse(value) as LogData;
}

function dataOf(log: LogData): string {
  return JSON.stringify(log);
}
