import { type Logs, afterPrefix, pageOf } from '../port';
import type { Ask } from './ask';
import { PART_BYTES } from './entries';
import type { EntryKeys } from './keys';
import { only } from './rows';
import { afterKey, get, hasValue, isAbsent, put, range, removeRange } from './wire';

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
