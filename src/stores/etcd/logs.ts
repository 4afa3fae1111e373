import type { JobName } from '../../core/brand';
import type { LogStore } from '../../lease/store';
import { checkLogText } from '../limits';
import type { Ask } from './ask';
import { PART_BYTES } from './entries';
import type { Keys, LogKeys } from './keys';
import { only } from './rows';
import { afterKey, get, hasValue, isAbsent, put, range, removeRange } from './wire';
import { afterPrefix } from '../port';

/** No log is as long. */
const FAR = 10 ** 14;

/** The keys of one log. */
interface Log {
  readonly head: string;
  readonly textAt: (place: number) => string;
}

function logOf({ heads, texts }: LogKeys, id: string): Log {
  return {
    head: `${heads}${id}`,
    textAt: (place) => `${texts}${id}/${String(Math.min(place, FAR)).padStart(15, '0')}`,
  };
}

/** A log's text lies in keys that are never rewritten. What lies beyond its length belongs to an append that failed. */
export function logsIn(ask: Ask, { logs }: Keys): LogStore {
  const named = (job: JobName, key: string, name: string) => ({
    id: `${key}/${name}`,
    ...logOf(logs(job), `${key}/${name}`),
  });
  return {
    async createLog(job, key, name, options) {
      const { id, head } = named(job, key, name);
      const question = { what: `create log ${id} of ${job}`, kind: 'write', options } as const;
      const { succeeded } = await ask.transact(question, { compare: [isAbsent(head)], success: [put(head, '0')] });
      return succeeded ? 'created' : 'exists';
    },
    async appendLog(job, key, name, { text, at }, options) {
      checkLogText(text);
      const { id, head, textAt } = named(job, key, name);
      const question = { what: `append to log ${id} of ${job}`, kind: 'append', options } as const;
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
        if (!succeeded) return 'refused';
      }
      return 'appended';
    },
    async readLog(job, key, name, { from, limit }, options) {
      const { id, head, textAt } = named(job, key, name);
      const question = { what: `read log ${id} of ${job}`, kind: 'read', options } as const;
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
    async listLogs(job, key, { limit, continuation }, options) {
      const prefix = `${logs(job).heads}${key}/`;
      const question = { what: `list the logs of run ${key} of ${job}`, kind: 'listing', options } as const;
      const from = continuation === undefined ? prefix : afterKey(`${prefix}${continuation}`);
      const success = [range({ from, to: afterPrefix(prefix), limit: limit + 1 })];
      const found = (await ask.transact(question, { success })).found[0]?.kvs ?? [];
      const page = found.slice(0, limit).map((kv) => ({ name: kv.key.slice(prefix.length), bytes: Number(kv.value) }));
      return { logs: page, continuation: found.length > limit ? page.at(-1)?.name : undefined };
    },
  };
}
