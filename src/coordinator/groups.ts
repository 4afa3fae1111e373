import type { Millis } from '../core/brand';
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
} from '../core/group';
import type { JobGroup } from '../core/job';
import { compareRanks } from '../core/ranked-queue';
import type { Report } from './coordinator';
import { type GroupProcess, createDoor, idOf } from './group-door';
import type { Patience } from './concurrency-limit';

/** Attempts that are due at the same instant ask within a few milliseconds: one write serves them, in their order. */
const TOGETHER_MS: Millis = 5;
/** The waits between two reads of a group by a process in which runs wait for it: the first, and the longest. */
const READ_AGAIN_MS = { first: 500, most: 2_000 };
const LONGER = 1.5;
/** How long the first answer about a group may take. */
const FIRST_ANSWER_MS: Millis = 5_000;
/** An attempt that could not leave for so long leaves its entry behind. Its row shows others that it is out. */
const LEAVES_WITHIN_MS: Millis = 2_000;

/** One attempt that asks for a place in its group. */
export interface Asker {
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

/** The calls of one process for one group. All its attempts share them. Decision 074. */
export interface Doorkeeper {
  /**
   * Waits for a place.
   *
   * @returns for how long it was waited, 0 if there was a place at once; undefined once the signal is aborted or the
   *   patience is over
   */
  enter(asker: Asker, patience: Patience): Promise<Millis | undefined>;
  /** Gives the place back, or stops waiting. Never rejects, and ends after 2 s at most. */
  leave(member: Member): Promise<void>;
}

const doorkeepers = new WeakMap<object, Map<string, Doorkeeper>>();

export function doorkeeperOf(surroundings: GroupProcess, group: string): Doorkeeper {
  const own = doorkeepers.get(surroundings) ?? new Map<string, Doorkeeper>();
  doorkeepers.set(surroundings, own);
  const doorkeeper = own.get(group) ?? createDoorkeeper(surroundings, group);
  own.set(group, doorkeeper);
  return doorkeeper;
}

export function createDoorkeeper(surroundings: GroupProcess, name: string): Doorkeeper {
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
    enter: (asker, patience) => {
      const id = idOf(asker.member);
      return new Promise((resolve, reject) => {
        const one = askingOf(clock, asker, patience, {
          end: () => asking.delete(id),
          resolve,
          reject,
        });
        if (one === undefined) return;
        asking.set(id, one);
        door.report = asker.report;
        begin();
      });
    },
    leave: (member) =>
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
