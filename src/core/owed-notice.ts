import type { EpochMs } from './brand';
import { parseRecordKey } from './key';
import { isInstant, isWhole, listText, parsedJson } from './metadata';

const END_CHANGES = ['failed', 'recovered', 'paused'] as const;

/** The changes that the end of a run makes. Its holder decides them under its claim. */
export type EndChange = (typeof END_CHANGES)[number];

/**
 * A notice that the row owes, as it owes records: the write that counts the run names it, it is created after the run's
 * record, and the release follows. On an available row it exists.
 */
export interface OwedNotice {
  readonly change: EndChange;
  /** The key of the run whose end is the change. */
  readonly of: string;
  readonly at: EpochMs;
  /** Failed runs in a row: with this one, or, for `recovered`, before it. */
  readonly failures: number;
  /** The due time of the first failed run that is known. */
  readonly since: EpochMs | undefined;
  /** Due times since then that did not run. */
  readonly skipped: number;
}

export function sameOwed(a: readonly OwedNotice[], b: readonly OwedNotice[]): boolean {
  return a.length === b.length && a.every((one, index) => one.of === b[index]?.of && one.change === b[index].change);
}

/** The notices as the row's metadata has them: those of one run together, because a row has little room. */
export function storeOwed(telling: readonly OwedNotice[]): string | undefined {
  const runs = [...Map.groupBy(telling, ({ of }) => of).values()].map((own) => {
    const [first] = own;
    const { of, at, failures, since, skipped } = first ?? { of: '', at: 0, failures: 0, since: undefined, skipped: 0 };
    return [own.map(({ change }) => change).join(' '), of, at, failures, since ?? null, skipped];
  });
  return listText(runs);
}

/** Reads them leniently: a notice that a newer build owes must not keep the job from running. */
export function readOwedNotices(text: string | undefined): readonly OwedNotice[] {
  const list = text === undefined ? undefined : parsedJson(text);
  return Array.isArray(list) ? list.flatMap(readRun) : [];
}

function readRun(member: unknown): readonly OwedNotice[] {
  if (!Array.isArray(member)) return [];
  const [changes, of, at, failures, since, skipped]: readonly unknown[] = member;
  if (typeof changes !== 'string' || typeof of !== 'string' || parseRecordKey(of) === undefined) return [];
  if (!isInstant(at) || !isWhole(failures) || !isWhole(skipped) || (since !== null && !isInstant(since))) return [];
  const known = END_CHANGES.filter((change) => changes.split(' ').includes(change));
  return known.map((change) => ({ change, of, at, failures, since: since ?? undefined, skipped }));
}
