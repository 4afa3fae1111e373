import type { JobName } from '../../../src/core/brand';
import { EMPTY_GROUP, type Group, type Member, type WaitingMember, readGroup } from '../../../src/core/group';
import type { JobSpec } from '../../../src/core/job';
import type { JobFacts, Report } from '../world/facts';
import { trusts } from './trust';

/** A free place is taken within this in the calm: by then a waiter that has died has lost its lease, too. */
const TAKEN_WITHIN_MS = 90_000;

/** The observed state of one group. */
export interface GroupFacts {
  readonly name: string;
  /** The largest number that any file has. */
  readonly limit: number;
  readonly jobs: readonly JobFacts[];
  group: Group;
  /** Since when a place is free while someone waits for it. */
  freeSince: number | undefined;
}

export function groupsOf(
  specs: ReadonlyMap<JobName, readonly JobSpec[]>,
  jobs: ReadonlyMap<JobName, JobFacts>,
): ReadonlyMap<string, GroupFacts> {
  const groups = new Map<string, GroupFacts>();
  for (const [name, revisions] of specs) {
    const facts = jobs.get(name);
    for (const { group } of revisions) {
      if (group === undefined || facts === undefined) continue;
      const known = groups.get(group.name);
      groups.set(group.name, {
        name: group.name,
        limit: Math.max(group.maxParallel, known?.limit ?? 0),
        jobs: [...new Set([...(known?.jobs ?? []), facts])],
        group: EMPTY_GROUP,
        freeSince: undefined,
      });
    }
  }
  return groups;
}

/** At no instant do more runs of a group trust than may be at work at once. */
export function checkTogether({ name, limit, jobs }: GroupFacts, report: Report): void {
  const atWork = jobs.filter(isAtWork).map((facts) => facts.name);
  if (atWork.length > limit) {
    report('groupOverfull', 'all', `${atWork.join(', ')} of group ${name} are at work, which runs ${String(limit)}`);
  }
}

/** A handler of the job trusts its lease, or items of its run do while its row is left to them. */
function isAtWork({ executions, items, row }: JobFacts): boolean {
  for (const one of executions) {
    if (one.running && !one.process.dead && !one.process.paused && trusts(one)) return true;
  }
  if (row?.phase !== 'fanning') return false;
  for (const item of items) {
    const { process, context } = item;
    if (!process.dead && !process.paused && context.fence.token === row.token && trusts(item)) return true;
  }
  return false;
}

/** Checks a version of a group that was written. */
export function groupWritten(facts: GroupFacts, text: string, now: number, report: Report): void {
  const before = facts.group;
  const after = readGroup(facts.name, text);
  facts.group = after;
  const members = [...after.running, ...after.waiting].map(({ job }) => job);
  if (new Set(members).size < members.length) {
    report('groupTwice', 'all', `group ${facts.name} has a job twice: ${members.join(', ')}`);
  }
  if (after.running.length > facts.limit && after.running.length > before.running.length) {
    report('groupOverfull', 'all', `group ${facts.name} has ${String(after.running.length)} places`);
  }
  const entered = after.running.filter((member) => !before.running.some(({ job }) => job === member.job));
  for (const member of entered) checkTurn(facts, member, now, report);
}

/** Those that wait under their lease, and go before a run that gets a place, find a place too. */
function checkTurn(facts: GroupFacts, { job, token }: Member, now: number, report: Report): void {
  const { group, jobs } = facts;
  const orderOf = (member: Member): Pick<WaitingMember, 'priority' | 'came'> | undefined => {
    const claim = jobs.find(({ name }) => name === member.job)?.claimOf.get(member.token);
    const run = claim?.row.run;
    const claimed = jobs.find(({ name }) => name === member.job)?.acquisitions.get(claim?.leaseId ?? ('' as never));
    const spec = claimed?.actor.spec(member.job);
    if (run === undefined || spec === undefined) return undefined;
    // Back-filled runs go behind all others.
    if (run.trigger === 'backfill') return { priority: -1, came: run.since };
    const due = run.scheduledFor + (run.trigger === 'manual' ? 0 : spec.offsetMs);
    return { priority: spec.priority, came: Math.max(due, run.since) };
  };
  const own = orderOf({ job, token, key: '' });
  if (own === undefined) return;
  const passed = group.waiting.filter((other) => {
    const order = orderOf(other);
    if (order === undefined || !isAlive(jobs, other, now)) return false;
    return order.priority > own.priority || (order.priority === own.priority && order.came < own.came);
  });
  // Files with other priorities, or other numbers of places, may differ.
  const isOneFile = jobs.every(({ specs }) => {
    const [first] = specs;
    return specs.every(({ priority, group: its }) => priority === first?.priority && its?.maxParallel === facts.limit);
  });
  if (isOneFile && passed.length > facts.limit - group.running.length) {
    const others = passed.map((other) => other.job).join(', ') || 'there was one';
    report('groupOvertaken', job, `it got a place in group ${facts.name} before ${others}, out of its turn`);
  }
}

/** The member's attempt holds its lease, or its items are at work. */
function isAlive(jobs: readonly JobFacts[], { job, token, key }: Member, now: number): boolean {
  const facts = jobs.find(({ name }) => name === job);
  if (facts?.row === undefined || facts.row.run?.key !== key) return false;
  const { row, lease } = facts;
  if (row.phase === 'fanning') return true;
  return row.token === token && lease !== undefined && now < lease.until;
}

/** In the calm, a free place does not stay free while someone waits. */
export function checkTaken(facts: GroupFacts, now: number, report: Report): void {
  const { group, jobs, limit, name } = facts;
  const waiting = group.waiting.filter((member) => isAlive(jobs, member, now));
  const running = group.running.filter((member) => isAlive(jobs, member, now));
  const isFree = waiting.length > 0 && running.length < Math.min(limit, smallest(jobs));
  facts.freeSince = isFree ? (facts.freeSince ?? now) : undefined;
  if (facts.freeSince === undefined || now - facts.freeSince <= TAKEN_WITHIN_MS) return;
  report(
    'placeLeftFree',
    'all',
    `a place in group ${name} is free, and ${waiting.map(({ job }) => job).join(', ')} wait`,
  );
  facts.freeSince = undefined;
}

function smallest(jobs: readonly JobFacts[]): number {
  return Math.min(...jobs.flatMap(({ specs }) => specs.map(({ group }) => group?.maxParallel ?? Infinity)));
}
