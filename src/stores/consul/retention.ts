import type { EpochMs, Millis } from '../../core/brand';
import type { CallOptions, Retention } from '../../lease/store';
import { type Facet, type Kept, keptIn } from '../port';
import type { Ask, Calls } from './ask';
import { abandoned } from './bodies';
import { divisionsOf, removalOf } from './entries';
import { type EntryKeys, idIn, type Keys } from './keys';
import { hasIndex, type Operation, OPERATIONS, tree } from './wire';

/** At most so many entries in one call. */
const BATCH = 1_000;
/** Three operations remove an entry, and one checks the container. */
const REMOVALS = Math.floor((OPERATIONS - 4) / 3);
const DIVISIONS_AT_ONCE = 16;
/** A body has its entry within the time of a call. */
const ABANDONED_MS = 3_600_000;

/** What a lifecycle rule does for blobs. The age of an entry is by the time in its head. */
export function purgeIn(ask: Ask, keys: Keys): Retention['purge'] {
  return async (keep, options) => {
    let left = BATCH;
    for (const kept of keptIn(keys.entries, keep)) {
      left -= await purgeKind(ask, kept, left, options);
      if (left <= 0) return 'more';
    }
    await ask({ what: 'delete bodies without entries', kind: 'delete', options }, async (calls) => {
      const { date, found = [] } = await calls.transact(tree(keys.uploads));
      await inParts(calls, abandoned(keys, found, date - ABANDONED_MS), 2);
    });
    return 'done';
  };
}

/** Whose ids count down in time, so that the oldest are last. */
const IN_ORDER: readonly Facet[] = ['records', 'logs', 'audits'];

/** @returns how many entries were removed */
async function purgeKind(
  ask: Ask,
  { facet, keys, keepMs }: Kept<EntryKeys>,
  limit: number,
  options: CallOptions | undefined,
): Promise<number> {
  const question = { what: 'delete old entries', kind: 'delete', options } as const;
  const divisions = (await ask(question, (calls) => divisionsOf(calls, keys))).toReversed();
  let removed = 0;
  for (let from = 0; from < divisions.length && removed < limit; from += DIVISIONS_AT_ONCE) {
    const some = divisions.slice(from, from + DIVISIONS_AT_ONCE);
    const count = await ask(question, (calls) => purgeDivisions(calls, keys, some, keepMs, limit - removed));
    removed += count;
    // Those that were written out of turn wait until what is beside them is old.
    if (count === 0 && IN_ORDER.includes(facet)) break;
  }
  return removed;
}

async function purgeDivisions(
  calls: Calls,
  keys: EntryKeys,
  divisions: readonly string[],
  keepMs: Millis,
  limit: number,
): Promise<number> {
  const { date, found = [] } = await calls.transact(...divisions.map(tree));
  const isOld = (at: EpochMs): boolean => at < date - keepMs;
  const old = found.filter(({ value }) => isOld((JSON.parse(value) as { readonly at: EpochMs }).at)).slice(0, limit);
  // What was written meanwhile stays, with what is beside it, until the next time.
  const operations = old.flatMap((head) => [hasIndex(head), ...removalOf(keys, idIn(keys, head.key))]);
  await inParts(calls, operations, 3);
  return old.length;
}

/** @param each the number of operations that belong together */
async function inParts(calls: Calls, operations: readonly Operation[], each: number): Promise<void> {
  const size = REMOVALS * each;
  for (let from = 0; from < operations.length; from += size)
    await calls.transact(...operations.slice(from, from + size));
}
