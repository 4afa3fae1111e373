import { type Logs, afterPrefix, pageOf } from '../port';
import type { Ask } from './ask';
import { isNothing, pairs } from './entries';
import type { EntryKeys } from './keys';
import { script } from './scripts';

/** A log is one string, which grows in place, and its length among the heads. */
const CREATE = script(
  'write',
  `if redis.call('HSETNX', KEYS[2], ARGV[1], 0) == 0 then return 0 end
redis.call('ZADD', KEYS[4], 0, ARGV[1])
redis.call('ZADD', KEYS[5], now, ARGV[1])
return 1`,
);

const APPEND = script(
  'write',
  `if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], redis.call('APPEND', KEYS[6], ARGV[3]))
redis.call('ZADD', KEYS[5], now, ARGV[1])
return 1`,
);

const READ = script(
  'read',
  `if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then return 0 end
return { redis.call('GETRANGE', KEYS[6], ARGV[2], ARGV[3]) }`,
);

const LIST = script(
  'read',
  `local found = {}
for _, id in ipairs(page(KEYS[4], ARGV[1], ARGV[2], ARGV[3])) do
  found[#found + 1] = id
  found[#found + 1] = redis.call('HGET', KEYS[2], id)
end
return found`,
);

/** No log is as long, and Redis counts the bytes of a string in integers. */
const FAR = 2 ** 40;

export function logsIn(ask: Ask): Logs<EntryKeys> {
  return {
    create: async ({ id, ...question }) =>
      !isNothing(await ask({ ...question, script: CREATE, args: [id], isNothing })),
    append: async ({ keys, id, text, at, ...question }) =>
      !isNothing(await ask({ ...question, keys: withText(keys, id), script: APPEND, args: [id, at, text], isNothing })),
    async read({ keys, id, from, limit, ...question }) {
      const start = Math.min(from, FAR);
      const args = [id, start, start + Math.min(limit, FAR) - 1];
      const answer = await ask({ ...question, keys: withText(keys, id), script: READ, args, isNothing });
      if (isNothing(answer)) return undefined;
      // For Redis, a range from the first byte to the one before it is the whole text.
      return limit === 0 ? '' : (answer as string[])[0];
    },
    async page({ prefix, limit, continuation, ...question }) {
      const from = continuation === undefined ? `[${prefix}` : `(${continuation}`;
      const args = [from, `(${afterPrefix(prefix)}`, limit + 1];
      const found = pairs((await ask({ ...question, script: LIST, args })) as string[]);
      return pageOf(
        found.map(([id, bytes]) => ({ id, bytes: Number(bytes) })),
        limit,
      );
    },
  };
}

/** With the key of a log's text. Retention finds it by the key of the bodies and the log's id. */
function withText(keys: EntryKeys, id: string): readonly string[] {
  return [...keys, `${keys[1]}:${id}`];
}
