import type { Millis, ETag, JobName } from '../core/brand';
import { type Clock, sleep } from '../core/clock';
import {
  type Group,
  type Member,
  type WaitingMember,
  enter,
  hasPlace,
  inOrder,
  leave,
  rankOf,
  without,
  BACKFILL_PRIORITY,
  EMPTY_GROUP,
  ForeignGroupError,
  type RowSight,
  isOut,
  readGroup,
  storeGroup,
  cameAt,
} from '../core/group';
import type { JobGroup } from '../core/job';
import { ForeignMetadataError } from '../core/metadata';
import { compareRanks } from '../core/ranked-queue';
import { ForeignRecordError } from '../core/record';
import { decodeRow } from '../core/row';
import { CALL_LIMIT_MS, within } from '../lease/deadline';
import { type LeaseStore, type ListedJob, StoreError } from '../lease/store';
import type { Patience } from './concurrency-limit';
import type { Report, Coordinator } from './coordinator';
import type { HeldRow } from './held';
import { troubled, troubleOver } from './reachability';

/** Attempts that are due at the same instant ask within a few milliseconds: one write serves them, in their order. */
const TOGETHER_MS: Millis = 5;
/** The waits between two reads of a group by a process in which runs wait for it: the first, and the longest. */
const READ_AGAIN_MS = { first: 500, most: 2_000 };
const LONGER = 1.5;
/** How long the first answer about a group may take. */
const FIRST_ANSWER_MS: Millis = 5_000;
/** An attempt that could not leave for so long leaves its entry behind. Its row shows others that it is out. */
const LEAVES_WITHIN_MS: Millis = 2_000;

interface Asker {
  readonly group: JobGroup;
  readonly member: WaitingMember;
  readonly report: Report;
}

interface Asking extends Asker {
  /** It was not its turn when it asked. */
  isSkipped: boolean;
  /** Its patience was over before it was known whose turn it is. */
  isLast: boolean;
  skip(): void;
  admit(): void;
  reject(mistake: unknown): void;
}

const doorkeepers = new WeakMap<object, Map<string, ReturnType<typeof createDoorkeeper>>>();

function doorkeeperOf(surroundings: GroupProcess, group: string) {
  const own = doorkeepers.get(surroundings) ?? new Map<string, ReturnType<typeof createDoorkeeper>>();
  doorkeepers.set(surroundings, own);
  const doorkeeper = own.get(group) ?? createDoorkeeper(surroundings, group);
  own.set(group, doorkeeper);
  return doorkeeper;
}

/** The calls of one process for one group. All its attempts share them. Decision 074. */
function createDoorkeeper(surroundings: GroupProcess, name: string) {
  const { clock } = surroundings;
  const asking = new Map<string, Asking>();
  const leaving = new Map<string, Member>();
  const left = new Map<string, () => void>();
  const door = createDoor(surroundings, name);
  let isAtWork = false;
  let isNews = false;
  let wake = (): void => undefined;

  const nextOf = (group: Group): Group => {
    let next = without(group, (member) => door.isOut(member));
    for (const member of leaving.values()) next = leave(next, member);
    const inTurn = [...asking.values()].toSorted((one, other) =>
      compareRanks(rankOf(one.member), rankOf(other.member)),
    );
    for (const { member, group: own } of inTurn) next = enter(next, member, own.maxParallel);
    return next;
  };
  const tellAll = (group: Group): void => {
    for (const [id, member] of leaving) {
      if (leave(group, member) !== group) continue;
      leaving.delete(id);
      left.get(id)?.();
    }
    for (const one of asking.values()) {
      if (hasPlace(group, one.member)) one.admit();
      else one.skip();
    }
  };
  /** Returns whether there may be more to do at once. */
  const step = async (): Promise<boolean> => {
    const { seen, isRead } = await door.current(asking.size > 0);
    const next = nextOf(seen.group);
    if (next !== seen.group && !(await door.write(next, seen))) return true;
    tellAll(next);
    if (asking.size === 0) return leaving.size > 0;
    if (next === seen.group && !isRead) {
      door.forget();
      return true;
    }
    const mine = new Set(asking.keys());
    const inTheWay = blockersOf(next, [...asking.values()]).filter((member) => !mine.has(idOf(member)));
    return door.checkRows(inTheWay);
  };
  const work = async (): Promise<void> => {
    let wait = READ_AGAIN_MS.first;
    while (asking.size > 0 || leaving.size > 0) {
      isNews = false;
      let isMore = false;
      try {
        isMore = await step();
      } catch (error) {
        if (!door.isPassing(error)) {
          for (const one of asking.values()) one.reject(error);
          for (const end of left.values()) end();
        }
      }
      if (isMore || isNews) {
        wait = READ_AGAIN_MS.first;
        continue;
      }
      const nudge = new AbortController();
      wake = () => nudge.abort();
      if (asking.size > 0 || leaving.size > 0) await sleep(clock, wait, nudge.signal);
      if (asking.size > 0) door.forget();
      wait = nudge.signal.aborted ? READ_AGAIN_MS.first : Math.min(READ_AGAIN_MS.most, wait * LONGER);
    }
  };
  const begin = (): void => {
    isNews = true;
    wake();
    if (isAtWork) return;
    isAtWork = true;
    void sleep(clock, TOGETHER_MS)
      .then(work)
      .finally(() => {
        isAtWork = false;
        if (asking.size > 0 || leaving.size > 0) begin();
      });
  };

  return {
    /**
     * Waits for a place.
     *
     * @returns for how long it was waited, 0 if there was a place at once; undefined once the signal is aborted or the
     *   patience is over
     */
    enter(asker: Asker, patience: Patience): Promise<Millis | undefined> {
      const id = idOf(asker.member);
      return new Promise((resolve, reject) => {
        const one = askingOf(clock, asker, patience, { end: () => asking.delete(id), resolve, reject });
        if (one === undefined) return;
        asking.set(id, one);
        door.report = asker.report;
        begin();
      });
    },
    /** Gives the place back, or stops waiting. Never rejects, and ends after 2 s at most. */
    leave: (member: Member): Promise<void> =>
      new Promise((resolve) => {
        const id = idOf(member);
        const end = (): void => {
          cancel();
          leaving.delete(id);
          left.delete(id);
          resolve();
        };
        const cancel = clock.after(LEAVES_WITHIN_MS, end);
        leaving.set(id, member);
        left.set(id, end);
        begin();
      }),
  };
}

/** An attempt that asks, until it has a place or its patience is over; undefined if that is so at once. */
function askingOf(
  clock: Clock,
  asker: Asker,
  { signal, atMostMs }: Patience,
  on: {
    readonly end: () => void;
    readonly resolve: (waitedMs: Millis | undefined) => void;
    readonly reject: (mistake: Error) => void;
  },
): Asking | undefined {
  if (signal.aborted) {
    on.resolve(undefined);
    return undefined;
  }
  const since = clock.monotonic();
  let cancel = (): void => undefined;
  const end = (): void => {
    on.end();
    cancel();
    signal.removeEventListener('abort', giveUp);
  };
  const giveUp = (): void => {
    end();
    on.resolve(undefined);
  };
  cancel = clock.after(Math.max(0, atMostMs), () => {
    if (one.isSkipped) giveUp();
    // A place that is free is given even to a caller without any patience left.
    else {
      one.isLast = true;
      cancel = clock.after(FIRST_ANSWER_MS, giveUp);
    }
  });
  signal.addEventListener('abort', giveUp, { once: true });
  const one: Asking = {
    ...asker,
    isSkipped: false,
    isLast: false,
    skip: () => {
      one.isSkipped = true;
      if (one.isLast) giveUp();
    },
    admit: () => {
      end();
      on.resolve(one.isSkipped ? Math.max(1, Math.round(clock.monotonic() - since)) : 0);
    },
    reject: (mistake) => {
      end();
      on.reject(mistake instanceof Error ? mistake : new Error(String(mistake)));
    },
  };
  return one;
}

/** Those that have the places, and those whose turn comes before that of others. */
function blockersOf({ running, waiting }: Group, askers: readonly Asker[]): readonly Member[] {
  const places = Math.max(...askers.map(({ group }) => group.maxParallel));
  return [...running, ...inOrder(waiting).slice(0, places)];
}

/** How often the rows of those that are in the way are read: a holder may have died. */
const CHECK_ROWS_EVERY_MS: Millis = 5_000;
/** The rows of more jobs than this are read by one listing of all. */
const ROWS_ONE_BY_ONE = 8;

interface GroupProcess extends Pick<Coordinator, 'clock' | 'health' | 'serviceTime'> {
  readonly store: Pick<LeaseStore, 'readGroup' | 'writeGroup' | 'list'>;
}

interface Seen {
  readonly group: Group;
  /** Undefined: there is no such group in storage yet. */
  readonly etag: ETag | undefined;
}

function idOf({ job, token }: Member): string {
  return `${job} ${String(token)}`;
}

/** A group in storage, as one process reads and writes it. */
export function createDoor(surroundings: GroupProcess, name: string) {
  const { clock, store } = surroundings;
  const calling = <T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> => within(clock, CALL_LIMIT_MS, call);
  const out = new Set<string>();
  const trouble = `group ${name}`;
  let known: Seen | undefined;
  let lastEtag: ETag | undefined;
  /** Another process wrote the group last time, so that what is known is probably old. */
  let isShared = false;
  let checkedRowsAt = -Infinity;
  const door = {
    report: undefined as Report | undefined,
    /** What is known is enough for those that leave; those that ask read the group where others write it too. */
    async current(isAsked: boolean): Promise<{ readonly seen: Seen; readonly isRead: boolean }> {
      if (known !== undefined && !(isShared && isAsked)) return { seen: known, isRead: false };
      const found = await calling((signal) => store.readGroup(name, { signal }));
      const seen = { group: found === undefined ? EMPTY_GROUP : readGroup(name, found.body), etag: found?.etag };
      if (door.report !== undefined)
        troubleOver(surroundings, trouble, `group "${name}" can be read again`, door.report);
      isShared &&= seen.etag !== lastEtag;
      known = seen;
      lastEtag = seen.etag;
      return { seen, isRead: true };
    },
    /** False: another process has written the group since. */
    async write(next: Group, { etag }: Seen): Promise<boolean> {
      known = undefined;
      const answer = await calling((signal) => store.writeGroup(name, storeGroup(next), etag, { signal }));
      if (answer.kind === 'refused') {
        isShared = true;
        return false;
      }
      known = { group: next, etag: answer.etag };
      lastEtag = answer.etag;
      const members = new Set([...next.running, ...next.waiting].map(idOf));
      for (const id of out) if (!members.has(id)) out.delete(id);
      return true;
    },
    forget(): void {
      known = undefined;
    },
    isOut: (member: Member): boolean => out.has(idOf(member)),
    /** Returns whether one of them turns out to be out. */
    async checkRows(members: readonly Member[]): Promise<boolean> {
      if (members.length === 0 || clock.monotonic() - checkedRowsAt < CHECK_ROWS_EVERY_MS) return false;
      checkedRowsAt = clock.monotonic();
      const jobs = await rowsOf(new Set(members.map(({ job }) => job)), store, calling);
      const found = members.filter((member) => isOut(member, sightOf(jobs.get(member.job))));
      for (const member of found) out.add(idOf(member));
      return found.length > 0;
    },
    /** Whether a call that failed so is to be repeated. Otherwise it is a mistake of this program. */
    isPassing(error: unknown): boolean {
      known = undefined;
      // The lease is renewed or lost by separate calls. While it holds, this one is repeated.
      if (error instanceof StoreError) return true;
      if (!(error instanceof ForeignGroupError) && !(error instanceof ForeignRecordError)) return false;
      if (door.report !== undefined) troubled(surroundings, trouble, { reason: error.message }, door.report);
      return true;
    },
  };
  return door;
}

async function rowsOf(
  names: ReadonlySet<JobName>,
  store: Pick<LeaseStore, 'list'>,
  calling: <T>(call: (signal: AbortSignal) => Promise<T>) => Promise<T>,
): Promise<ReadonlyMap<JobName, ListedJob>> {
  if (names.size > ROWS_ONE_BY_ONE) return (await calling((signal) => store.list({ signal }))).jobs;
  const listings = await Promise.all([...names].map((job) => calling((signal) => store.list({ job, signal }))));
  return new Map(listings.flatMap(({ jobs }) => [...jobs]));
}

function sightOf(listed: ListedJob | undefined): RowSight | undefined {
  if (listed?.row === undefined) return undefined;
  const { lease, metadata } = listed.row;
  // The holder of a broken lease may still trust it. The row's next claim proves that it does not.
  const isHeld = lease === 'leased' || lease === 'broken';
  try {
    return { isHeld, row: decodeRow(metadata), date: listed.date };
  } catch (error) {
    if (!(error instanceof ForeignMetadataError)) throw error;
    return { isHeld, row: undefined, date: listed.date };
  }
}

/** An attempt's place in the group of its job, if that has one. */
export interface Membership {
  /** Whether the attempt needs a place before its handler. */
  readonly isNeeded: boolean;
  /**
   * Waits for a place, or keeps the one that the run has.
   *
   * @returns for how long it was waited; undefined once the signal is aborted or the patience is over
   */
  enter(patience: Patience): Promise<Millis | undefined>;
  /** Gives back what the attempt has, once nothing of its run is at work. Never rejects. */
  leave(): Promise<void>;
}

export const NO_MEMBERSHIP: Membership = { isNeeded: false, enter: async () => 0, leave: async () => undefined };

/** @param mayHavePlace an earlier attempt of the run may have left its place to this one */
export function membershipOf(held: HeldRow, mayHavePlace: boolean): Membership {
  const { coordinator, job, row, key, report } = held;
  const { name, group, kind, priority } = job.spec;
  // A leader job's term would keep its place from all others: the jobs file may not say so.
  if (group === undefined || row.run === undefined || kind === 'always') return NO_MEMBERSHIP;
  const doorkeeper = doorkeeperOf(coordinator, group.name);
  // Back-filled runs wait for all others.
  const rank = row.run?.trigger === 'backfill' ? BACKFILL_PRIORITY : priority;
  const member: WaitingMember = { job: name, token: row.token, key, priority: rank, came: cameAt(job.spec, row.run) };
  let hasAsked = mayHavePlace;
  let hasLeft: Promise<void> | undefined;
  return {
    isNeeded: true,
    enter: (patience) => {
      hasAsked = true;
      return doorkeeper.enter({ group, member, report }, patience);
    },
    leave: () => {
      if (!hasAsked) return Promise.resolve();
      hasLeft ??= doorkeeper.leave(member);
      return hasLeft;
    },
  };
}
