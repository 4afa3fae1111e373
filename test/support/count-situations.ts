import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { type JobSpec, NOTICE_TOPICS } from '../../src/core/job';
import { CALL_KINDS, type CallKind } from '../../src/core/storage-call';
import { defineFanOut } from '../../src/handler/define-fan-out';
import { NonRetryableError } from '../../src/handler/handler';
import type { CountedSituation } from '../../src/operator/cost/situation';
import { type CountedCall, type CountedDeployment, countedDeployment } from './counted-deployment';
import { jobSpec } from './job';
import { fakeReceiver } from './receivers';

/** What was counted of one situation. */
interface Counted {
  calls: Partial<Record<CallKind, number>>;
  activities: number;
  turns: number;
}

export type CountedTable = Readonly<Record<CountedSituation, Counted>>;

const LEASE_MS = 15_000;
const ITEMS = 10;

/**
 * Plays each situation once on the emulator, in real time, and counts the calls to storage. It takes about a minute.
 */
export async function countSituations(connectionString: string): Promise<CountedTable> {
  // A test that is tried again must not find the rows of the first time.
  const unique = randomUUID().slice(0, 8);
  const play: Play = (name, jobs, { container = 'count', ...options }) =>
    countedDeployment({ connectionString, name, jobs, ...options, container: `${container}-${unique}` });
  const [idle, notices, run, lost, renewed, takenOver, few, many] = await Promise.all([
    countIdle(play),
    countNotices(play),
    countRun(play),
    countLost(play),
    countRenewed(play),
    countTakenOver(play),
    countFanOut(play, ITEMS),
    countFanOut(play, 2 * ITEMS),
  ]);
  const item = each(minus(many, few), ITEMS);
  return { ...idle, ...notices, ...run, lost, renewed, takenOver, fannedOut: minus(few, times(item, ITEMS)), item };
}

type Play = (
  name: string,
  jobs: readonly JobSpec[],
  options: Partial<Parameters<typeof countedDeployment>[0]>,
) => CountedDeployment;

async function countIdle(play: Play): Promise<Pick<CountedTable, 'idleTick' | 'sweep' | 'presence'>> {
  const jobs = [jobSpec('idle', '0 0 1 1 *')];
  const seldom = play('seldom', jobs, { container: 'count-idle', isPresent: true });
  await seldom.tick(Date.now() + 1_000);
  // No tick waits for the presence.
  await setTimeout(1_000);
  const presence = seldom.calls.filter(({ room }) => room === 'deployments');
  seldom.calls.length = 0;
  await seldom.tick(Date.now() + 1_000);
  const idleTick = tally(seldom.calls);
  const often = play('seldom', jobs, { container: 'count-idle', sweepIntervalMs: 1_000 });
  await often.tick(Date.now() + 1_000);
  await setTimeout(1_100);
  often.calls.length = 0;
  await often.tick(Date.now() + 1_000);
  return { idleTick, sweep: tally(often.calls), presence: tally(presence) };
}

/** What a job that notifies adds to a sweep, and to its first run that fails. */
async function countNotices(play: Play): Promise<Pick<CountedTable, 'noticeSweep' | 'notice'>> {
  const notify = { to: ['ops'], on: NOTICE_TOPICS, after: 1, remindMs: undefined };
  const playBoth = (settings: Partial<JobSpec>, container: string) =>
    Promise.all([countSweep(play, settings, container), countFailure(play, settings, container)]);
  const [told, silent] = await Promise.all([playBoth({ notify }, 'count-told'), playBoth({}, 'count-silent')]);
  return { noticeSweep: minus(told[0], silent[0]), notice: minus(told[1], silent[1]) };
}

async function countSweep(play: Play, settings: Partial<JobSpec>, container: string): Promise<Counted> {
  const jobs = [jobSpec('idle', '0 0 1 1 *', settings)];
  const often = play('often', jobs, { container: `${container}-sweep`, sweepIntervalMs: 1_000 });
  await often.tick(Date.now() + 1_000);
  await setTimeout(1_100);
  often.calls.length = 0;
  await often.tick(Date.now() + 1_000);
  return tally(often.calls);
}

async function countFailure(play: Play, settings: Partial<JobSpec>, container: string): Promise<Counted> {
  const due = dueIn(14_000);
  const job = jobSpec('once', `@at ${new Date(due).toISOString()}`, { leaseMs: 60_000, ...settings });
  const one = play('one', [job], {
    ...{ container, receiver: fakeReceiver() },
    handler: {
      run: () => {
        throw new NonRetryableError('no');
      },
    },
  });
  await firstSight(one);
  await one.tick(due + 1_000);
  return tally(one.calls.filter(isOfRun));
}

/** A due time of a job that the same deployment has run before, and the check that finds its end. */
async function countRun(play: Play): Promise<Pick<CountedTable, 'dueTick' | 'won' | 'settled'>> {
  const due = dueIn(14_000);
  let started = 0;
  const job = jobSpec('once', `@at ${new Date(due).toISOString()}`, { leaseMs: 60_000 });
  const one = play('one', [job], {
    container: 'count-run',
    handler: { run: () => void (started = one.calls.length) },
  });
  await firstSight(one);
  await one.tick(due + 1_000);
  const [before, after] = [one.calls.slice(0, started), one.calls.slice(started)];
  const listings = one.calls.filter(isListing);
  return {
    dueTick: tally(listings),
    won: { ...tally(before.filter(isOfRun)), ...workOf(one) },
    settled: tally(after.filter(isOfRun)),
  };
}

/** The other deployment acquires the lease between this one's check and its call. */
async function countLost(play: Play): Promise<Counted> {
  const due = dueIn(14_000);
  const job = jobSpec('once', `@at ${new Date(due).toISOString()}`, { leaseMs: 60_000 });
  const acquired = Promise.withResolvers<void>();
  const winner = play('winner', [job], {
    container: 'count-lost',
    handler: { run: () => acquired.resolve() },
  });
  const loser = play('loser', [job], {
    container: 'count-lost',
    before: (kind) => (kind === 'acquire' ? acquired.promise : undefined),
  });
  await Promise.all([firstSight(winner), firstSight(loser)]);
  await Promise.all([winner.tick(due + 1_000), loser.tick(due + 1_000)]);
  return tally(loser.calls.filter(isOfRun));
}

async function countRenewed(play: Play): Promise<Counted> {
  const due = dueIn(14_000);
  const job = jobSpec('long', `@at ${new Date(due).toISOString()}`, { leaseMs: LEASE_MS });
  let during: readonly CountedCall[] = [];
  const one = play('one', [job], {
    container: 'count-renewed',
    handler: {
      run: async () => {
        const from = one.calls.length;
        // Until the read that belongs to the second renewal: the next one comes a third of the lease later.
        const reads = () => during.filter(({ kind }) => kind === 'read').length;
        for (const deadline = Date.now() + 2 * LEASE_MS; reads() < 2 && Date.now() < deadline;) {
          await setTimeout(100);
          during = one.calls.slice(from).filter(isOfRun);
        }
      },
    },
  });
  await firstSight(one);
  await one.tick(due + 1_000);
  return each(tally(during), during.filter(({ kind }) => kind === 'renew').length);
}

/** The first deployment is killed while its handler runs. */
async function countTakenOver(play: Play): Promise<Counted> {
  const due = dueIn(14_000);
  const job = jobSpec('once', `@at ${new Date(due).toISOString()}`, { leaseMs: LEASE_MS });
  const called = Promise.withResolvers<void>();
  const dead = play('dead', [job], {
    container: 'count-taken-over',
    handler: {
      run: () => {
        dead.kill();
        called.resolve();
        return new Promise(() => undefined);
      },
    },
  });
  let started = 0;
  const other = play('other', [job], {
    container: 'count-taken-over',
    sweepIntervalMs: 2_000,
    handler: { run: () => void (started = other.calls.length) },
  });
  await firstSight(dead);
  void dead.tick(due + 1_000);
  await called.promise;
  const deadline = Date.now() + 60_000;
  while (started === 0) {
    if (Date.now() > deadline) throw new Error('nobody took over within 60 s');
    await other.tick(Date.now() + 2_000);
  }
  return { ...tally(other.calls.slice(0, started).filter(isOfRun)), ...workOf(other) };
}

async function countFanOut(play: Play, count: number): Promise<Counted> {
  const due = dueIn(14_000);
  const job = jobSpec('wide', `@at ${new Date(due).toISOString()}`, { leaseMs: 60_000 });
  const one = play('one', [job], {
    container: `count-fan-out-${count}`,
    handler: defineFanOut<unknown, number, number>({
      concurrency: 1,
      plan: () => Array.from({ length: count }, (_, index) => index),
      each: (_context, item) => item,
      gather: () => 'done',
    }),
  });
  await firstSight(one);
  await one.tick(due + 1_000);
  // A heartbeat that is written again comes with time, and not with each item.
  const isBeat = ({ kind, room }: CountedCall): boolean => kind === 'metadata' && room !== 'jobs';
  return { ...tally(one.calls.filter((call) => isOfRun(call) && !isBeat(call))), ...workOf(one) };
}

/** Creates the rows, and forgets the calls. */
async function firstSight(one: CountedDeployment): Promise<void> {
  // Ends before anything is due, however slow the start is.
  await one.tick(Date.now() + 4_000);
  one.calls.length = 0;
}

/** The executions of its orchestrations so far, without the one that proves the task hub. */
function workOf({ activities, turns }: CountedDeployment): Pick<Counted, 'activities' | 'turns'> {
  const probes = activities.filter(({ kind }) => kind === 'probe').length;
  return { activities: activities.length - probes, turns: turns - 2 * probes };
}

function dueIn(ms: number): number {
  return Math.ceil(Date.now() / 1000) * 1000 + ms;
}

function isListing({ kind }: CountedCall): boolean {
  return kind === 'listing';
}

/** Listings belong to ticks, presences to deployments, and the creation of the container to the start of a process. */
function isOfRun(call: CountedCall): boolean {
  return !isListing(call) && call.kind !== 'container' && call.room !== 'deployments';
}

function tally(calls: readonly CountedCall[]): Counted {
  const counts: Counted['calls'] = {};
  for (const kind of CALL_KINDS) {
    const count = calls.filter((call) => call.kind === kind).length;
    if (count > 0) counts[kind] = count;
  }
  return { calls: counts, activities: 0, turns: 0 };
}

function combined(a: Counted, b: Counted, join: (a: number, b: number) => number): Counted {
  const calls: Counted['calls'] = {};
  for (const kind of CALL_KINDS) {
    const count = join(a.calls[kind] ?? 0, b.calls[kind] ?? 0);
    if (count !== 0) calls[kind] = count;
  }
  return { calls, activities: join(a.activities, b.activities), turns: join(a.turns, b.turns) };
}

function minus(a: Counted, b: Counted): Counted {
  return combined(a, b, (one, other) => one - other);
}

function times(a: Counted, factor: number): Counted {
  return combined(a, a, (one) => one * factor);
}

function each(a: Counted, of: number): Counted {
  const result = times(a, 1 / of);
  const fractions = Object.values(result.calls).filter((count) => !Number.isInteger(count));
  if (fractions.length > 0) throw new Error(`the calls do not divide by ${of}: ${JSON.stringify(a.calls)}`);
  return result;
}
