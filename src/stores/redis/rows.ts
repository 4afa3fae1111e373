import type { JobName } from '../../core/brand';
import type { ListedRow, Metadata } from '../../lease/store';
import { listedLease } from '../lease-automaton';
import { STORE_LIMITS } from '../limits';
import { dateOf, type Question, type Rows, etagOf, versionOf } from '../port';
import type { Ask } from './ask';
import { newVersion, pairs } from './entries';
import type { RowKeys } from './keys';
import { script } from './scripts';

/**
 * A row's head is its version and its lease: the id, the length and the end in milliseconds, and 1 if the lease is
 * broken; without a lease `-`, 0, 0 and 0. The metadata are apart, so that a renewal writes a hundred bytes and no more.
 */
const HEAD = `local name = ARGV[1]
local head = redis.call('HGET', KEYS[2], name)
local version, lease, length, ends, broken
if head then
  version, lease, length, ends, broken = string.match(head, '^(%S+) (%S+) (%d+) (%d+) (%d)$')
  length, ends, broken = tonumber(length), tonumber(ends), broken == '1'
end
local function set(version, lease, length, ends, broken)
  redis.call('HSET', KEYS[2], name,
    string.format('%s %s %.0f %.0f %d', version, lease, length, ends, broken and 1 or 0))
end
`;

const CREATE = script(
  'write',
  `${HEAD}
if head then return 0 end
set(ARGV[2], '-', 0, 0, false)
redis.call('HSET', KEYS[3], name, ARGV[3])
return 1`,
);

const READ = script(
  'read',
  `local head = redis.call('HGET', KEYS[2], ARGV[1])
if not head then return 0 end
return { now, head, redis.call('HGET', KEYS[3], ARGV[1]) }`,
);

/** The guard of a claim: this version, under this lease, which has not ended by the server's time. */
export const WRITE = script(
  'write',
  `${HEAD}
if version ~= ARGV[2] or lease ~= ARGV[3] or ends <= now then return 0 end
set(ARGV[4], lease, length, ends, broken)
redis.call('HSET', KEYS[3], name, ARGV[5])
return now`,
);

export const ACQUIRE = script(
  'write',
  `${HEAD}
if version ~= ARGV[2] then return 0 end
if lease ~= '-' and ends > now and (lease ~= ARGV[3] or broken) then return 0 end
set(version, ARGV[3], ARGV[4], now + ARGV[4], false)
return now`,
);

/** Needs no memory: the head stays as long as it is. */
export const RENEW = script(
  'shrink',
  `${HEAD}
if lease ~= ARGV[2] or broken then return 0 end
set(version, lease, length, now + length, false)
return 1`,
);

export const RELEASE = script(
  'shrink',
  `${HEAD}
if lease ~= ARGV[2] or (ARGV[3] and version ~= ARGV[3]) then return 0 end
set(version, '-', 0, 0, false)
return 1`,
);

const BREAK = script(
  'write',
  `${HEAD}
if version ~= ARGV[2] or lease == '-' then return 0 end
ends = math.min(ends, now + ARGV[3])
set(version, lease, length, ends, true)
return { math.max(0, ends - now) }`,
);

const ALL = script('read', `return { now, redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3]) }`);

/** @param keys of rows with leases: those of jobs, or of elections */
export function rowsIn(ask: Ask, keys: RowKeys): Rows {
  return {
    async create({ job, ...question }, metadata) {
      const version = newVersion();
      const args = [job, version, JSON.stringify(metadata)];
      const done = await ask({ ...question, keys, script: CREATE, args });
      return done === undefined ? undefined : etagOf(version);
    },
    async read({ job, ...question }) {
      const answer = await ask({ ...question, keys, script: READ, args: [job] });
      if (answer === undefined) return undefined;
      const [now, head, metadata] = answer as [number, string, string | null];
      return rowIn(head, metadata, now);
    },
    async write({ job, ...question }, metadata, { leaseId, ifMatch }) {
      const version = newVersion();
      const args = [job, versionOf(ifMatch), leaseId, version, JSON.stringify(metadata)];
      const now = await ask({ ...question, keys, script: WRITE, args });
      return now === undefined ? undefined : { etag: etagOf(version), date: dateOf(now as number) };
    },
    async acquire({ job, ...question }, { leaseId, leaseMs, ifMatch }) {
      const args = [job, versionOf(ifMatch), leaseId, leaseMs];
      const now = await ask({ ...question, keys, script: ACQUIRE, args });
      return now === undefined ? undefined : dateOf(now as number);
    },
    renew: async ({ job, ...question }, leaseId) =>
      (await ask({ ...question, keys, script: RENEW, args: [job, leaseId] })) !== undefined,
    async release({ job, ...question }, leaseId, ifMatch) {
      const args = ifMatch === undefined ? [job, leaseId] : [job, leaseId, versionOf(ifMatch)];
      return (await ask({ ...question, keys, script: RELEASE, args })) !== undefined;
    },
    async break({ job, ...question }, ifMatch) {
      const args = [job, versionOf(ifMatch), STORE_LIMITS.leaseMs.most];
      const answer = await ask({ ...question, keys, script: BREAK, args });
      return answer === undefined ? undefined : (answer as [number])[0];
    },
  };
}

/**
 * @param now the server's time
 * @throws Error if the row is not one of ours
 */
export function rowIn(head: string, metadata: string | null | undefined, now: number): ListedRow {
  const [, version, lease, ends, broken] = /^(\S+) (\S+) \d+ (\d+) (\d)$/.exec(head) ?? [];
  if (version === undefined || typeof metadata !== 'string')
    throw new Error('a row of cronlease in Redis is not whole');
  const holder = lease === '-' ? undefined : lease;
  const seen = listedLease({ holder, isOver: Number(ends) <= now, isBroken: broken === '1' });
  return { etag: etagOf(version), ...seen, metadata: JSON.parse(metadata) as Metadata };
}

export async function allRows(ask: Ask, keys: RowKeys, question: Question): Promise<ReadonlyMap<JobName, ListedRow>> {
  const answer = await ask({ ...question, script: ALL, keys });
  const [now, heads, metadata] = answer as [number, string[], string[]];
  const found = new Map(pairs(metadata));
  return new Map(
    pairs(heads)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, head]) => [name as JobName, rowIn(head, found.get(name), now)]),
  );
}
