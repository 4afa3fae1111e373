import type { JobName } from '../../core/brand';
import type { CallOptions, LeaseBreaking, ListedRow, Metadata, RowStore } from '../../lease/store';
import { listedLease } from '../lease-automaton';
import { checkMetadata, leaseSeconds, STORE_LIMITS } from '../limits';
import { dateOf, type RowCalls, etagOf, versionOf } from '../port';
import type { Ask } from './ask';
import { isNothing, newVersion, pairs } from './entries';
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
  `return { now, redis.call('HGET', KEYS[2], ARGV[1]), redis.call('HGET', KEYS[3], ARGV[1]) }`,
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
if version ~= ARGV[2] or lease == '-' then return { 0 } end
ends = math.min(ends, now + ARGV[3])
set(version, lease, length, ends, true)
return { 1, math.max(0, ends - now) }`,
);

const ALL = script('read', `return { now, redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3]) }`);

/** @param keys of rows with leases: those of jobs, or of elections */
export function rowCalls(ask: Ask, keys: RowKeys): RowCalls {
  return { ...readAndWrite(ask, keys), ...leases(ask, keys) };
}

function readAndWrite(ask: Ask, keys: RowKeys): Pick<RowStore, 'createRow' | 'readRow' | 'writeRow'> {
  return {
    async createRow(job, metadata, options) {
      checkMetadata(metadata);
      const args = [job, newVersion(), JSON.stringify(metadata)];
      const question = { what: `create the row of ${job}`, kind: 'write', keys, options } as const;
      return isNothing(await ask({ ...question, script: CREATE, args, isNothing })) ? 'exists' : 'created';
    },
    async readRow(job, options) {
      const answer = await ask({
        what: `read the row of ${job}`,
        kind: 'read',
        script: READ,
        keys,
        args: [job],
        options,
        isNothing: (found) => (found as readonly unknown[])[1] === null,
      });
      const [now, head, metadata] = answer as [number, string | null, string | null];
      return head === null ? undefined : rowIn(head, metadata, now);
    },
    async writeRow(job, metadata, { leaseId, ifMatch }, options) {
      checkMetadata(metadata);
      const version = newVersion();
      const args = [job, versionOf(ifMatch), leaseId, version, JSON.stringify(metadata)];
      const question = { what: `write the row of ${job}`, kind: 'metadata', keys, options } as const;
      const now = await ask({ ...question, script: WRITE, args, isNothing });
      if (isNothing(now)) return { kind: 'refused' };
      return { kind: 'written', etag: etagOf(version), date: dateOf(now as number) };
    },
  };
}

function leases(ask: Ask, keys: RowKeys): Pick<RowStore, 'acquire' | 'renew' | 'release'> & Required<LeaseBreaking> {
  return {
    async acquire(job, { leaseId, leaseMs, ifMatch }, options) {
      const args = [job, versionOf(ifMatch), leaseId, leaseSeconds(leaseMs) * 1000];
      const question = { what: `acquire the lease of ${job}`, kind: 'acquire', keys, options } as const;
      const now = await ask({ ...question, script: ACQUIRE, args, isNothing });
      return isNothing(now) ? { kind: 'lost' } : { kind: 'acquired', date: dateOf(now as number) };
    },
    async renew(job, leaseId, options) {
      const question = { what: `renew the lease of ${job}`, kind: 'renew', keys, options } as const;
      const done = await ask({ ...question, script: RENEW, args: [job, leaseId], isNothing });
      return isNothing(done) ? 'lost' : 'renewed';
    },
    async release(job, leaseId, options) {
      const ifMatch = options?.ifMatch;
      const args = ifMatch === undefined ? [job, leaseId] : [job, leaseId, versionOf(ifMatch)];
      const question = { what: `release the lease of ${job}`, kind: 'release', keys, options } as const;
      return isNothing(await ask({ ...question, script: RELEASE, args, isNothing })) ? 'lost' : 'released';
    },
    async breakLease(job, ifMatch, options) {
      const answer = await ask({
        what: `break the lease of ${job}`,
        kind: 'break',
        script: BREAK,
        keys,
        options,
        args: [job, versionOf(ifMatch), STORE_LIMITS.leaseMs.most],
        isNothing: (found) => isNothing((found as readonly unknown[])[0]),
      });
      const [done, leftMs = 0] = answer as number[];
      return isNothing(done) ? { kind: 'lost' } : { kind: 'broken', leftMs: Math.round(leftMs / 1000) * 1000 };
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

export async function allRows(
  ask: Ask,
  keys: RowKeys,
  options: CallOptions | undefined,
): Promise<ReadonlyMap<JobName, ListedRow>> {
  const answer = await ask({ what: 'list elections', kind: 'listing', script: ALL, keys, options });
  const [now, heads, metadata] = answer as [number, string[], string[]];
  const found = new Map(pairs(metadata));
  return new Map(
    pairs(heads)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, head]) => [name as JobName, rowIn(head, found.get(name), now)]),
  );
}
