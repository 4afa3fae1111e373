import type { ETag } from '../../../src/core/brand';
import { type Layout, decodeLayout, arrivedRow, formOf } from '../../../src/core/layout';
import { noticeId } from '../../../src/core/notice';
import type { OwedNotice } from '../../../src/core/owed-notice';
import { parseRecord } from '../../../src/core/record';
import { type Row, decodeRow } from '../../../src/core/row';
import type { Listing, Metadata } from '../../../src/lease/store';
import {
  type Acquisition,
  type Actor,
  type JobFacts,
  NEXT_STORE,
  type Report,
  isFinal,
  keyText,
  short,
} from '../world/facts';
import type { World } from '../world/world';

/*
 * Jobs move from one store to another. A job has one set of facts for both: its row counts in one of them, and the other
 * one holds a copy that is on its way, or the mark that the job has moved.
 */

/** `cronlease migrate` relies on this: twice the sweep interval. */
const SEEN_WITHIN_MS = 120_000;
/** The longest time from a decision to its call. */
const DECIDED_BEFORE_MS = 2_000;

/** The layouts of both stores, and what each process has read of them. */
export interface Layouts {
  /** A command writes the layout of a store. */
  written(location: string, metadata: Metadata): void;
  has(location: string): boolean;
  /** A listing of all jobs is made for a process. */
  swept(actor: Actor): void;
  /** A listing reaches a process. */
  listed(actor: Actor, listing: Listing): void;
  /** Checks a row that a process has created where the job is not. */
  createdAway(facts: JobFacts, location: string, actor: Actor): void;
  /** Checks the claim of a run that begins. */
  claimed(facts: JobFacts, row: Row, acquisition: Acquisition | undefined): void;
}

export function createLayouts(now: () => number, report: Report): Layouts {
  /** Each layout with the time of its write, by location. */
  const versions = new Map<string, { readonly at: number; readonly layout: Layout }[]>();
  /** Since when each process has known that it begins no run. */
  const barredSince = new WeakMap<Actor, number>();
  const sweptAt = new WeakMap<Actor, number>();
  const versionsOf = (location: string) => versions.get(location) ?? [];
  return {
    has: (location) => versions.has(location),
    written(location, metadata) {
      versions.set(location, [...versionsOf(location), { at: now(), layout: decodeLayout(metadata) }]);
    },
    swept(actor) {
      sweptAt.set(actor, now());
    },
    createdAway({ name, home }, location, actor) {
      // One that stood still for longer knows no better. It sweeps before it claims, and the layout then bars it.
      if (now() >= (sweptAt.get(actor) ?? -Infinity) + SEEN_WITHIN_MS) return;
      report('twoRows', name, `its row in ${home} counts, and ${actor.id} has created one in ${location}`);
    },
    listed(actor, { layout }) {
      // A listing of one job shows none.
      if (layout === undefined) return;
      if (mayBegin(decodeLayout(layout.metadata))) barredSince.delete(actor);
      else if (!barredSince.has(actor)) barredSince.set(actor, now());
    },
    claimed({ name, home }, row, acquisition) {
      const all = versionsOf(home);
      const what = `${keyText(row.run?.key ?? '')} was claimed in ${home}`;
      if (home === NEXT_STORE && !all.some(({ layout }) => mayBegin(layout))) {
        report('claimedTooSoon', name, `${what}, and the jobs are still moving there`);
      }
      if (acquisition === undefined) return;
      const { actor, firstSentAt, viewAt } = acquisition;
      const since = barredSince.get(actor) ?? Infinity;
      if (since < firstSentAt - DECIDED_BEFORE_MS) {
        report('claimedBarred', name, `${what} by ${actor.id}, which knew at ${short(since)} that it begins no run`);
      }
      const mark = all[all.findLastIndex(({ layout }) => mayBegin(layout)) + 1];
      if (mark !== undefined && viewAt > mark.at + SEEN_WITHIN_MS) {
        report('claimedBarred', name, `${what}, and the layout has forbidden that since ${short(mark.at)}`);
      }
    },
  };
}

/** Whether deployments begin runs in a store with this layout. Written apart from the product's own rule. */
function mayBegin({ state, left }: Layout): boolean {
  return state === 'settled' && !left;
}

/** Whether a write of a row is part of a move, and not one of the row that counts. */
export function isOfMove({ row, home, hasLeft }: JobFacts, location: string, metadata: Metadata): boolean {
  return formOf(metadata) !== 'live' || (row !== undefined && (hasLeft || location !== home));
}

/** Checks a row that was created or written in the course of a move. */
export function rowOfMove(
  facts: JobFacts,
  location: string,
  metadata: Metadata,
  etag: ETag | undefined,
  report: Report,
): void {
  const { name, home, hasLeft, row } = facts;
  switch (formOf(metadata)) {
    case 'arriving':
      if (location === home)
        report('rowOverwritten', name, `the row in ${location} counts, and a copy was put over it`);
      else facts.copy = decodeRow(arrivedRow(metadata));
      return;
    case 'moved':
      if (location !== home || row === undefined) {
        report('movedAway', name, `the row in ${location} does not count, and was marked as moved`);
        return;
      }
      if (!isCopied(facts, row)) {
        report('movedUncopied', name, `its row in ${location} was marked as moved, and differs from its copy`);
      }
      if (row.run !== undefined && row.phase !== 'idle' && !isFinal(facts, row.run.key)) {
        report('movedUnfinished', name, `it moved while run ${keyText(row.run.key)} was unfinished`);
      }
      facts.hasLeft = true;
      return;
    case 'live':
      // A process has created a row in the store that the job has left.
      if (location !== NEXT_STORE) return;
      if (!hasLeft || location === home) {
        report('twoRows', name, `its row in ${home} counts, and one in ${location} too`);
      } else if (!isSame(facts.copy, decodeRow(metadata))) {
        report('copyChanged', name, `its row in ${location} counts, and is not the copy`);
      }
      facts.row = decodeRow(metadata);
      facts.home = location;
      facts.hasLeft = false;
      facts.lease = undefined;
      facts.etag = etag;
  }
}

/**
 * The copy may show when the run ended, which its record has, and lack notices that exist. If the row counts another end
 * than the record shows, the copy may count that one.
 */
function isCopied({ copy, name, told, records }: JobFacts, row: Row): boolean {
  if (copy === undefined) return false;
  const { outcome, endedAt } = records.get(row.run?.key ?? '')?.record ?? {};
  const isMiscounted = outcome != null && countsOther(row, outcome);
  const isOwed = (notice: OwedNotice): boolean =>
    copy.telling.some(({ change, of }) => change === notice.change && of === notice.of);
  const isComplete = row.telling.every(
    (notice) =>
      isOwed(notice) ||
      notice.change === 'paused' ||
      (isMiscounted && notice.of === row.run?.key) ||
      told.has(noticeId(name, notice.change, notice.of)),
  );
  const { telling, failures, lastFailedKey, failedBefore } = row;
  const counts = isMiscounted ? { failures, lastFailedKey, failedBefore } : {};
  const endings = [row.busyUntil, ...(endedAt == null ? [] : [Date.parse(endedAt)])];
  return isComplete && endings.some((busyUntil) => isSame({ ...copy, ...counts, telling }, { ...row, busyUntil }));
}

/** Whether the row counts its run as failed, or as succeeded, and it ended otherwise. */
function countsOther({ run, lastFailedKey, failedBefore }: Row, outcome: string): boolean {
  const hasFailed = ['failed', 'timedOut', 'stalled'].includes(outcome);
  if (run !== undefined && lastFailedKey === run.key) return !hasFailed;
  return failedBefore !== undefined && outcome !== 'succeeded';
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The ledger lies as a whole where the row is. */
export async function checkLedgers({ observer, serviceAt }: World): Promise<void> {
  for (const { name, home, records } of observer.jobs.values()) {
    const store = serviceAt(home).open();
    for (const [key, { record, isDeleted }] of records) {
      if (isDeleted === true) continue;
      const found = await store.readRecord(name, key);
      const there = found && parseRecord(name, key, found.body);
      if (isSame(there, record)) continue;
      const what = there === undefined ? 'is missing' : `is ${there.state} (${String(there.reason)})`;
      observer.report('recordLeft', name, `record ${keyText(key)} ${what} in ${home}, to which the job has moved`);
    }
  }
}
