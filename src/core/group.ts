import type { EpochMs, JobName } from './brand';
import type { JobSpec } from './job';
import { FORMAT, type Guard, isInstant, isObject, isText, isWhole, membersOf, parsedJson } from './metadata';
import { type Rank, compareRanks } from './ranked-queue';
import { type Row, type RunRef, dueOf } from './row';

/** One attempt in a group. A job has one at most: a later claim ends the trust of the earlier attempt. */
export interface Member {
  readonly job: JobName;
  /** Of the attempt's claim. */
  readonly token: number;
  /** Of the run. */
  readonly key: string;
}

/** Below every priority of a job: due times go before back-fills. */
export const BACKFILL_PRIORITY = -1;

export interface WaitingMember extends Member {
  readonly priority: number;
  /** When its run came, by {@link cameAt}. */
  readonly came: EpochMs;
}

/** A group, as storage keeps it. */
export interface Group {
  /** The attempts that have a place. */
  readonly running: readonly Member[];
  /** Those that wait for one, in order of arrival. */
  readonly waiting: readonly WaitingMember[];
}

export const EMPTY_GROUP: Group = { running: [], waiting: [] };

/** The group's text in storage was not written by cronlease, or by a later version of it. */
export class ForeignGroupError extends Error {
  readonly code = 'ForeignGroup';
  override readonly name = 'ForeignGroupError';
}

/**
 * When a run came: at its due time, or when it was first acquired if that is later. Both are times of the service, so no
 * machine's clock decides who goes first; and a run that is resumed, or taken over, keeps its place in the order.
 */
export function cameAt(spec: Pick<JobSpec, 'offsetMs'>, run: RunRef): EpochMs {
  return Math.max(dueOf(spec, run), run.since);
}

/** What storage says of a job's row: its lease, and the row itself if it can be read. */
export interface RowSight {
  /** An instance holds the row's lease, or may still trust one that was broken. */
  readonly isHeld: boolean;
  readonly row: Row | undefined;
  /** The service's Date of that answer. */
  readonly date: EpochMs;
}

/**
 * Whether a member is out for certain: no handler of its attempt may trust its lease any more, and none of its items is
 * at work. What is proven once stays so, however old the sight is. Decision 071.
 *
 * @param sight undefined: there is no such row
 */
export function isOut(member: Member | WaitingMember, sight: RowSight | undefined): boolean {
  if (sight === undefined) return true;
  const { token, key } = member;
  const { isHeld, row, date } = sight;
  // The run of a place may have items, which go on once the row is put right. No run that waits has any.
  if (row === undefined) return !isHeld && 'came' in member;
  // The sight is older than the member's claim.
  if (row.token < token) return false;
  // Another run was claimed since, under its own lease.
  if (row.run?.key !== key) return true;
  // A later attempt of the same run keeps the place.
  if (isHeld) return false;
  return row.phase !== 'fanning' || date >= (row.notBefore ?? Infinity);
}

export function without(group: Group, isGone: (member: Member) => boolean): Group {
  const running = group.running.filter((member) => !isGone(member));
  const waiting = group.waiting.filter((member) => !isGone(member));
  const isSame = running.length === group.running.length && waiting.length === group.waiting.length;
  return isSame ? group : { running, waiting };
}

function isSameMember(one: Member, other: Member): boolean {
  return one.job === other.job && one.token === other.token;
}

/**
 * An attempt asks for a place. It gets one, or waits behind those that go before it. Decision 070.
 *
 * @returns the group as it was, if it changes nothing
 */
export function enter(group: Group, member: WaitingMember, maxParallel: number): Group {
  const { job, token, key } = member;
  const own = group.running.find((one) => one.job === job);
  if (own !== undefined && own.token >= token) return group;
  if (own?.key === key) return { ...group, running: group.running.map((one) => (one === own ? placeOf(member) : one)) };
  // An attempt with a later claim waits already: this one has lost its lease.
  if (group.waiting.some((one) => one.job === job && one.token > token)) return group;
  // The claim of this attempt proves that earlier ones of its job are over.
  const { running, waiting } = without(group, (one) => one.job === job && one.token < token);
  const queue = waiting.some((one) => isSameMember(one, member)) ? waiting : [...waiting, member];
  const free = maxParallel - running.length;
  // A process asks again for hundreds of runs at once: while no place is free, they are not put in order for each.
  const ahead = free > 0 ? inOrder(queue).findIndex((one) => isSameMember(one, member)) : free;
  if (ahead < free) {
    return {
      running: [...running, placeOf(member)],
      waiting: queue.filter((one) => !isSameMember(one, member)),
    };
  }
  return queue === group.waiting ? group : { running, waiting: queue };
}

function placeOf({ job, token, key }: Member): Member {
  return { job, token, key };
}

/** Takes an attempt out, and earlier ones of its job, which its claim has ended. */
export function leave(group: Group, member: Member): Group {
  return without(group, (one) => one.job === member.job && one.token <= member.token);
}

export function hasPlace({ running }: Group, member: Member): boolean {
  return running.some((one) => isSameMember(one, member));
}

/** Those that wait, in the order in which they get places: by priority, then the one that came first. Decision 072. */
export function inOrder(waiting: readonly WaitingMember[]): readonly WaitingMember[] {
  return waiting.toSorted((one, other) => compareRanks(rankOf(one), rankOf(other)));
}

export function rankOf({ priority, came }: Pick<WaitingMember, 'priority' | 'came'>): Rank {
  return [-priority, came];
}

export function storeGroup({ running, waiting }: Group): string {
  return JSON.stringify({ format: FORMAT, running, waiting });
}

const MEMBER = { job: isText as Guard<JobName>, token: isWhole, key: isText };
const memberOf = membersOf<Member>(MEMBER);
const isPriority = (value: unknown): value is number => Number.isFinite(value);
const waitingOf = membersOf<WaitingMember>({ ...MEMBER, priority: isPriority, came: isInstant });

/** @throws ForeignGroupError */
export function readGroup(name: string, text: string): Group {
  const value = parsedJson(text);
  const refuse = (): never => {
    throw new ForeignGroupError(
      `groups/${name} cannot be read: this version of cronlease did not write it. ` +
        'While no job of the group runs, delete it; the next run writes it again.',
    );
  };
  if (!isObject(value) || value['format'] !== FORMAT) return refuse();
  const { running, waiting } = value;
  if (!Array.isArray(running) || !Array.isArray(waiting)) return refuse();
  return {
    running: running.map((one) => memberOf(one) ?? refuse()),
    waiting: waiting.map((one) => waitingOf(one) ?? refuse()),
  };
}
