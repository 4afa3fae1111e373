import { randomBytes } from 'node:crypto';
import type { Metadata, Retention } from '../../lease/store';
import { BODY_BYTES } from '../limits';
import {
  afterPrefix,
  type Entries,
  etagOf,
  type Facet,
  type FacetKeys,
  type Head,
  keptIn,
  type Logs,
  pageOf,
  versionOf,
} from '../port';
import type { Ask } from './ask';
import type { EntryKeys } from './keys';
import { script } from './scripts';

/**
 * An entry's head is its version, its time of writing in milliseconds and its metadata as JSON, with spaces between.
 * The one way to write an entry, and the guard of everything but rows. The condition is `absent`, `there`, `any`, or
 * `version` with the version that it must have. Without a body, the body stays.
 */
export const PUT = script(
  'write',
  `local heads, bodies, names, written = KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, condition, expected, version, metadata, body = unpack(ARGV)
local head = redis.call('HGET', heads, id)
if condition == 'absent' and head then return 0 end
if condition == 'there' and not head then return 0 end
if condition == 'version' and not (head and string.match(head, '^%S+') == expected) then return 0 end
redis.call('HSET', heads, id, version .. ' ' .. string.format('%.0f', now) .. ' ' .. metadata)
if body then redis.call('HSET', bodies, id, body) end
redis.call('ZADD', names, 0, id)
redis.call('ZADD', written, now, id)
return 1`,
);

const GET = script(
  'read',
  `local id, most = ARGV[1], tonumber(ARGV[2])
local head = redis.call('HGET', KEYS[2], id)
if not head then return { now, false, false } end
local isOurs = redis.call('HSTRLEN', KEYS[3], id) <= most
return { now, head, isOurs and redis.call('HGET', KEYS[3], id) or false }`,
);

/** One page in order of id, and one more id as a sign that more follow. */
export const PAGE = script(
  'read',
  `local found = {}
for _, id in ipairs(page(KEYS[4], ARGV[1], ARGV[2], ARGV[3])) do
  found[#found + 1] = id
  found[#found + 1] = redis.call('HGET', KEYS[2], id)
end
return { now, found }`,
);

const ALL = script('read', `return { now, redis.call('HGETALL', KEYS[2]) }`);

const REMOVE = script(
  'shrink',
  `local id, expected = ARGV[1], ARGV[2]
local head = redis.call('HGET', KEYS[2], id)
if not head or (expected and string.match(head, '^%S+') ~= expected) then return 0 end
redis.call('HDEL', KEYS[2], id)
redis.call('HDEL', KEYS[3], id)
redis.call('ZREM', KEYS[4], id)
redis.call('ZREM', KEYS[5], id)
return 1`,
);

export function entriesIn(ask: Ask): Entries<EntryKeys> {
  return {
    async put({ id, condition, metadata, body, ...question }) {
      const version = newVersion();
      const [kind, expected] =
        typeof condition === 'string' ? [condition, ''] : ['version', versionOf(condition.version)];
      const args = [id, kind, expected, version, JSON.stringify(metadata), ...(body === undefined ? [] : [body])];
      const done = await ask({ ...question, script: PUT, args });
      return done === undefined ? undefined : etagOf(version);
    },
    async get({ id, ...question }) {
      const answer = await ask({
        ...question,
        script: GET,
        args: [id, BODY_BYTES],
        isNothing: (found) => (found as readonly unknown[])[1] === null,
      });
      const [now, head, body] = answer as [number, string | null, string | null];
      return { now, head: head === null ? undefined : headIn(head), body: body ?? undefined };
    },
    async page({ prefix = '', limit, continuation, ...question }) {
      const from = continuation === undefined || continuation < prefix ? `[${prefix}` : `(${continuation}`;
      const args = [from, `(${afterPrefix(prefix)}`, limit + 1];
      const [now, listed] = (await ask({ ...question, script: PAGE, args })) as [number, string[]];
      const found = pairs(listed).map(([id, head]) => ({ id, ...headIn(head) }));
      return { now, ...pageOf(found, limit) };
    },
    async all(question) {
      const [now, found] = (await ask({ ...question, script: ALL })) as [number, string[]];
      return { now, found: new Map(pairs(found).map(([id, head]) => [id, headIn(head)])) };
    },
    async remove({ id, ifMatch, ...question }) {
      const args = ifMatch === undefined ? [id] : [id, versionOf(ifMatch)];
      return (await ask({ ...question, script: REMOVE, args })) !== undefined;
    },
  };
}

export function newVersion(): string {
  return randomBytes(12).toString('base64url');
}

/** @throws Error if the head is not one of ours: a fault of this adapter, or of someone who writes its keys */
export function headIn(text: string): Head {
  const [, version, written, metadata] = /^(\S+) (\d+) (.*)$/s.exec(text) ?? [];
  if (version === undefined || metadata === undefined)
    throw new Error('a key of cronlease in Redis has foreign content');
  return { etag: etagOf(version), writtenMs: Number(written), metadata: JSON.parse(metadata) as Metadata };
}

/** Fields with their values, which Redis lists one after the other. */
export function pairs(list: readonly string[]): (readonly [string, string])[] {
  return Array.from({ length: list.length / 2 }, (_, index) => [list[2 * index] ?? '', list[2 * index + 1] ?? '']);
}

/** At most so many entries in one call, in which no other client is served: for about ten milliseconds. */
const BATCH = 1_000;

/**
 * Each four keys are the entries of one kind or job, and each argument after the first two is how long those are kept.
 * The texts of logs are separate strings; their keys are in the same slot.
 */
const PURGE = script(
  'shrink',
  `local left, areLogs = tonumber(ARGV[1]), ARGV[2] == 'logs'
for index = 3, #ARGV do
  local first = 2 + (index - 3) * 4
  local heads, bodies, names, written = KEYS[first], KEYS[first + 1], KEYS[first + 2], KEYS[first + 3]
  local old = string.format('(%.0f', now - ARGV[index])
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', written, '-inf', old, 'LIMIT', 0, left)) do
    redis.call('HDEL', heads, id)
    if areLogs then redis.call('UNLINK', bodies .. ':' .. id) else redis.call('HDEL', bodies, id) end
    redis.call('ZREM', names, id)
    redis.call('ZREM', written, id)
    left = left - 1
  end
  if left == 0 then return 1 end
end
return 0`,
);

/** What a lifecycle rule does for blobs. */
export function purgeIn(ask: Ask, keys: FacetKeys<EntryKeys>): Retention['purge'] {
  return async (keep, options) => {
    const kept = keptIn(keys, keep);
    const purge = (what: string, wanted: readonly Facet[]): Promise<unknown> => {
      const some = kept.filter(({ facet }) => wanted.includes(facet));
      const args = [BATCH, wanted.includes('logs') ? 'logs' : 'entries', ...some.map(({ keepMs }) => keepMs)];
      const all = some.flatMap((one) => one.keys);
      return ask({ what, kind: 'delete', script: PURGE, keys: all, args, options });
    };
    const more = [
      await purge('delete old records', ['records']),
      await purge('delete old logs', ['logs']),
      await purge('delete old entries', ['requests', 'audits', 'notices']),
    ];
    return more.includes(1) ? 'more' : 'done';
  };
}

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

/** No log is as long, and Redis counts the bytes of a string in integers. */
const FAR = 2 ** 40;

export function logsIn(ask: Ask): Logs<EntryKeys> {
  return {
    create: async ({ id, ...question }) => (await ask({ ...question, script: CREATE, args: [id] })) !== undefined,
    async append({ keys, id, text, at, ...question }) {
      const done = await ask({ ...question, keys: withText(keys, id), script: APPEND, args: [id, at, text] });
      return done !== undefined;
    },
    async read({ keys, id, from, limit, ...question }) {
      const start = Math.min(from, FAR);
      const args = [id, start, start + Math.min(limit, FAR) - 1];
      const answer = await ask({ ...question, keys: withText(keys, id), script: READ, args });
      if (answer === undefined) return undefined;
      // For Redis, a range from the first byte to the one before it is the whole text.
      return limit === 0 ? '' : (answer as string[])[0];
    },
    async page({ prefix, limit, continuation, ...question }) {
      const from = continuation === undefined ? `[${prefix}` : `(${continuation}`;
      const args = [from, `(${afterPrefix(prefix)}`, limit + 1];
      const [, found] = (await ask({ ...question, script: PAGE, args })) as [number, string[]];
      return pageOf(
        pairs(found).map(([id, bytes]) => ({ id, bytes: Number(bytes) })),
        limit,
      );
    },
  };
}

/** With the key of a log's text. Retention finds it by the key of the bodies and the log's id. */
function withText(keys: EntryKeys, id: string): readonly string[] {
  return [...keys, `${keys[1]}:${id}`];
}
