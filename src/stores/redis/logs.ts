import type { JobName } from '../../core/brand';
import type { LogStore } from '../../lease/store';
import { checkLogText } from '../limits';
import type { Ask } from './ask';
import { isNothing, pairs } from './entries';
import type { EntryKeys, Keys } from './keys';
import { script } from './scripts';
import { afterPrefix } from '../port';

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

/** The key of a log's text. Retention finds it by the key of the bodies and the log's id. */
function textKey([, bodies]: EntryKeys, id: string): string {
  return `${bodies}:${id}`;
}

export function logsIn(ask: Ask, { logs }: Keys): LogStore {
  const keysOf = (job: JobName, id: string): readonly string[] => [...logs(job), textKey(logs(job), id)];
  return {
    async createLog(job, key, name, options) {
      const id = `${key}/${name}`;
      const question = { what: `create log ${id} of ${job}`, kind: 'write', keys: logs(job), options } as const;
      return isNothing(await ask({ ...question, script: CREATE, args: [id], isNothing })) ? 'exists' : 'created';
    },
    async appendLog(job, key, name, { text, at }, options) {
      checkLogText(text);
      const id = `${key}/${name}`;
      const question = {
        what: `append to log ${id} of ${job}`,
        kind: 'append',
        keys: keysOf(job, id),
        options,
      } as const;
      const done = await ask({ ...question, script: APPEND, args: [id, at, text], isNothing });
      return isNothing(done) ? 'refused' : 'appended';
    },
    async readLog(job, key, name, { from, limit }, options) {
      const id = `${key}/${name}`;
      const question = { what: `read log ${id} of ${job}`, kind: 'read', keys: keysOf(job, id), options } as const;
      const start = Math.min(from, FAR);
      const args = [id, start, start + Math.min(limit, FAR) - 1];
      const answer = await ask({ ...question, script: READ, args, isNothing });
      if (isNothing(answer)) return undefined;
      // For Redis, a range from the first byte to the one before it is the whole text.
      return limit === 0 ? '' : (answer as string[])[0];
    },
    async listLogs(job, key, { limit, continuation }, options) {
      const prefix = `${key}/`;
      const from = continuation === undefined ? `[${prefix}` : `(${prefix}${continuation}`;
      const question = {
        what: `list the logs of run ${key} of ${job}`,
        kind: 'listing',
        keys: logs(job),
        options,
      } as const;
      const args = [from, `(${afterPrefix(prefix)}`, limit + 1];
      const found = pairs((await ask({ ...question, script: LIST, args })) as string[]);
      const page = found
        .slice(0, limit)
        .map(([id, bytes]) => ({ name: id.slice(prefix.length), bytes: Number(bytes) }));
      return { logs: page, continuation: found.length > limit ? page.at(-1)?.name : undefined };
    },
  };
}
