import { randomBytes } from 'node:crypto';
import type { Metadata } from '../../lease/store';
import { type Entries, type Head, afterPrefix, etagOf, versionOf, pageOf } from '../port';
import { BODY_BYTES } from '../limits';
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
const PAGE = script(
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
      const done = await ask({ ...question, script: PUT, args, isNothing });
      return isNothing(done) ? undefined : etagOf(version);
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
      return !isNothing(await ask({ ...question, script: REMOVE, args, isNothing }));
    },
  };
}

/** A script's answer that a condition did not hold. */
export function isNothing(answer: unknown): boolean {
  return answer === 0;
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
