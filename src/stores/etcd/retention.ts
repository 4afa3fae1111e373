import type { Millis } from '../../core/brand';
import type { CallOptions, Retention } from '../../lease/store';
import type { Ask } from './ask';
import { removalOf } from './entries';
import type { EntryKeys, Keys } from './keys';
import { all, isAsOld, type Operation, put, range, removeRange } from './wire';
import { afterPrefix, type Kept, keptIn } from '../port';

/** At most so many entries in one call. */
const BATCH = 1_000;
/** A transaction has at most 128 operations, unless the cluster's max-txn-ops is another. */
const RANGES = 100;
const REMOVALS = 40;
/** A mark this young is enough. */
const MARK_EVERY_MS = 10 * 60_000;

/** What is older than its keep, and has not been written since. */
interface Old {
  readonly head: string;
  readonly revision: string;
  readonly removal: readonly Operation[];
}

/**
 * What a lifecycle rule does for blobs. etcd finds keys by the revision of their last write, and has no time: each call
 * marks which revision was the newest at its time, so an entry is deleted up to an hour after its time.
 */
export function purgeIn(ask: Ask, { entries, marks }: Pick<Keys, 'entries' | 'marks'>): Retention['purge'] {
  return async (keep, options) => {
    const revisionBefore = await mark(ask, marks, keep.longestMs, options);
    const kept = keptIn(entries, keep);
    const old: Old[] = [];
    for (let from = 0; from < kept.length && old.length <= BATCH; from += RANGES) {
      old.push(...(await oldAmong(ask, kept.slice(from, from + RANGES), revisionBefore, options)));
    }
    const now = old.slice(0, BATCH);
    for (let from = 0; from < now.length; from += REMOVALS) {
      const some = now.slice(from, from + REMOVALS);
      const compare = some.map(({ head, revision }) => isAsOld(head, revision));
      const success = some.flatMap(({ removal }) => removal);
      await ask.transact({ what: 'delete old entries', kind: 'delete', options }, { compare, success });
    }
    return old.length > BATCH ? 'more' : 'done';
  };
}

type RevisionBefore = (keepMs: Millis) => string | undefined;

/** Marks this moment, and removes the marks that no deployment needs. */
async function mark(
  ask: Ask,
  marks: string,
  longest: Millis,
  options: CallOptions | undefined,
): Promise<RevisionBefore> {
  const question = { what: 'mark the time', kind: 'listing', options } as const;
  const { found } = await ask.transact(question, { success: [all(marks)] });
  const now = await ask.now(options);
  const seen = (found[0]?.kvs ?? []).map(({ key, mod }) => ({ at: Number(key.slice(marks.length)), mod }));
  const keyAt = (at: number): string => `${marks}${String(at).padStart(15, '0')}`;
  const before = (keepMs: Millis) => seen.findLast(({ at }) => at <= now - keepMs);
  const needed = before(longest)?.at ?? 0;
  if ((seen.at(-1)?.at ?? 0) <= now - MARK_EVERY_MS) {
    const success = [put(keyAt(now), ''), removeRange(marks, keyAt(Math.min(needed, now)))];
    await ask.transact({ ...question, kind: 'write' }, { success });
  }
  return (keepMs) => before(keepMs)?.mod;
}

async function oldAmong(
  ask: Ask,
  kept: readonly Kept<EntryKeys>[],
  revisionBefore: RevisionBefore,
  options: CallOptions | undefined,
): Promise<Old[]> {
  const due = kept.flatMap((one) => {
    const revision = revisionBefore(one.keepMs);
    return revision === undefined ? [] : [{ ...one, revision }];
  });
  if (due.length === 0) return [];
  const ranges = due.map(({ keys: { heads }, revision }) =>
    range({ from: heads, to: afterPrefix(heads), keysOnly: true, mostRevision: revision, limit: BATCH + 1 }),
  );
  const { found } = await ask.transact({ what: 'look for old entries', kind: 'listing', options }, { success: ranges });
  return due.flatMap(({ keys, revision }, index) =>
    (found[index]?.kvs ?? []).map(({ key: head }) => ({
      head,
      revision,
      removal: removalOf(keys, head.slice(keys.heads.length)),
    })),
  );
}
