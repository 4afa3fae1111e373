import type { ETag, JobName, Millis } from '../core/brand';
import {
  EMPTY_GROUP,
  ForeignGroupError,
  type Group,
  type Member,
  type RowSight,
  isOut,
  readGroup,
  storeGroup,
} from '../core/group';
import { ForeignMetadataError } from '../core/metadata';
import { ForeignRecordError } from '../core/record';
import { decodeRow } from '../core/row';
import { CALL_LIMIT_MS, within } from '../lease/deadline';
import { type LeaseStore, type ListedJob, StoreError } from '../lease/store';
import type { Coordinator, Report } from './coordinator';
import { troubled, troubleOver } from './reachability';

/** How often the rows of those that are in the way are read: a holder may have died. */
const CHECK_ROWS_EVERY_MS: Millis = 5_000;
/** The rows of more jobs than this are read by one listing of all. */
const ROWS_ONE_BY_ONE = 8;

/** What a group needs of its process. */
export interface GroupProcess extends Pick<Coordinator, 'clock' | 'health' | 'serviceTime'> {
  readonly store: Pick<LeaseStore, 'readGroup' | 'writeGroup' | 'list'>;
}

/** A group as this process saw it last. */
interface Seen {
  readonly group: Group;
  /** Undefined: there is no such group in storage yet. */
  readonly etag: ETag | undefined;
}

export function idOf({ job, token }: Member): string {
  return `${job} ${String(token)}`;
}

/** A group in storage, as one process reads and writes it. */
export interface Door {
  /** Takes events about the group. */
  report: Report | undefined;
  /** What is known is enough for those that leave; those that ask read the group where others write it too. */
  current(isAsked: boolean): Promise<{ readonly seen: Seen; readonly isRead: boolean }>;
  /** False: another process has written the group since. */
  write(next: Group, seen: Seen): Promise<boolean>;
  /** The group is read the next time. */
  forget(): void;
  isOut(member: Member): boolean;
  /** Returns whether one of them turns out to be out. */
  checkRows(members: readonly Member[]): Promise<boolean>;
  /** Whether a call that failed so is to be repeated. Otherwise it is a mistake of this program. */
  isPassing(error: unknown): boolean;
}

export function createDoor(surroundings: GroupProcess, name: string): Door {
  const { clock, store } = surroundings;
  const calling = <T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> => within(clock, CALL_LIMIT_MS, call);
  const out = new Set<string>();
  const trouble = `group ${name}`;
  let known: Seen | undefined;
  let lastEtag: ETag | undefined;
  /** Another process wrote the group last time, so that what is known is probably old. */
  let isShared = false;
  let checkedRowsAt = -Infinity;
  const door: Door = {
    report: undefined,
    async current(isAsked) {
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
    async write(next, { etag }) {
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
    forget() {
      known = undefined;
    },
    isOut: (member) => out.has(idOf(member)),
    async checkRows(members) {
      if (members.length === 0 || clock.monotonic() - checkedRowsAt < CHECK_ROWS_EVERY_MS) return false;
      checkedRowsAt = clock.monotonic();
      const jobs = await rowsOf(new Set(members.map(({ job }) => job)), store, calling);
      const found = members.filter((member) => isOut(member, sightOf(jobs.get(member.job))));
      for (const member of found) out.add(idOf(member));
      return found.length > 0;
    },
    isPassing(error) {
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
