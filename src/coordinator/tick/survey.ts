import type { JobName, Millis } from '../../core/brand';
import { BEAT_EVERY_MS } from '../../core/fan-out';
import { claimRank } from '../../core/ranked-queue';
import { within } from '../../lease/deadline';
import { type Listing, type ListOptions, StoreUnavailableError } from '../../lease/store';
import { elapsedSince, moment } from '../../lease/trust';
import type { Coordinator, Report } from '../coordinator';
import { troubleOver, troubled } from '../reachability';
import { decideOnAll, runnable } from './decide-on';
import type { Fire, TickState } from './fire';
import { createFirstSight } from './first-sight';
import { claimsOf, heedBounds } from './bounds';
import { leftRows } from './left-rows';
import { recordPurger } from './purge-records';
import { Rounds } from './rounds';

const TROUBLE = 'strays';

const SLOW = 'listing';

/** The plan changes only with checks, and those of a burst come together. */
const PLAN_EVERY_MS = 500;

const LISTING_LIMIT_MS = 10_000;
/** If the clock correction changes by more than this, instants noted under the old one are discarded. */
const TIME_MOVED_MS = 2_000;
/**
 * How many jobs one page of a listing shows. Calls for single jobs are cheaper if these are fewer than the pages of a
 * listing of all.
 */
const JOBS_PER_PAGE = 250;
/**
 * A call for a single job may take this long for a listing of all to be the longer way. While the emulator has all the work
 * that it can do, it takes half of it, one of 32 side by side.
 */
const CALL_MS: Millis = 20;

/** The least time between two sweeps, for each job that they read. It keeps them below 2 % of a core. */
const SWEEP_JOB_MS = 8;
/** Sweeps that are set to come this rarely, or less often, are left as they are. */
const SPREAD_UP_TO_MS = 60_000;

interface StepOptions {
  readonly isFirst: boolean;
  /** Sweeps, however young the last sweep is. */
  readonly mustSweep: boolean;
  /** The time until the tick should end. */
  readonly leftMs: Millis;
}

/** Checks jobs and starts due work: one call of `step` after another. One for each process. */
export function createSurvey(state: TickState) {
  const { coordinator, board, gate, orchestrations } = state;
  const { clock, serviceTime, settings, jobs } = coordinator;
  const { list, listWithRequired, clockWasSet } = createLister(state);
  const rounds = new Rounds(clock, list);
  const planBursts = burstPlanner(state);
  const firstSight = createFirstSight(state);
  const workAside = asides(state);
  const container = createContainerWatch(coordinator);
  /**
   * Sweeps of many jobs that are set to come every second or two, as on a developer's machine, come less often.
   * Decision 025.
   */
  const everyMs = Math.max(settings.sweepIntervalMs, Math.min(SPREAD_UP_TO_MS, jobs.size * SWEEP_JOB_MS));
  let lastSweep: Millis | undefined;
  let lastStep: Promise<unknown> = Promise.resolve();
  return {
    /** Whether storage has answered once. */
    get prepared() {
      return container.isPrepared;
    },
    /**
     * Checks the jobs whose next check is due, or all jobs. Steps follow each other: a poke may come during the timer's
     * tick, and both share one listing in parts.
     *
     * @returns the time until the next check is due
     * @throws StoreError
     */
    step(fire: Fire, options: StepOptions): Promise<Millis> {
      const own = lastStep.then(() => container.watch(() => stepOnce(fire, options)));
      // The next step follows a failed one too, whose caller gets the error.
      lastStep = own.catch(() => undefined);
      return own;
    },
  };

  /** Sweeps come more often while heartbeats depend on them. */
  function sweepEvery(): Millis {
    return Math.min(everyMs, Math.max(BEAT_EVERY_MS, orchestrations.everyMs));
  }

  async function stepOnce(fire: Fire, { isFirst, mustSweep, leftMs }: StepOptions): Promise<Millis> {
    await container.prepare(fire.report);
    if (clockWasSet()) {
      // A listing corrects the clock. Instants noted before may be as far ahead as the clock was.
      lastSweep = undefined;
      board.noteAll('clockCorrected', null);
    }
    planBursts();
    const due = claimsOf(coordinator) === 'none' ? [] : board.due(serviceTime.now());
    const sweepIsDue = mustSweep || sinceSweep() >= sweepEvery() || (isFirst && board.anyInFlight);
    const all = sweepIsDue || rounds.going;
    // Due jobs do not wait for a long listing of all, unless calls for each of them would take longer.
    const each = (!all || rounds.slow) && isFew(due);
    if (each) await checkEach(fire, due);
    if (all || !each) await checkAll(fire);
    const claims = claimsOf(coordinator);
    if (claims === 'none') return Math.max(0, sweepEvery() - sinceSweep());
    const creates = claims === 'all' && firstSight.going;
    if (creates) {
      // Rows of new jobs come after checks of those that are known, and again between them.
      const limitMs = Math.min(leftMs, board.nextCheckAt() - serviceTime.now());
      if (await firstSight.createSome(limitMs, fire.report)) lastSweep = undefined;
    }
    planBursts();
    if (creates && firstSight.going) return 0;
    return Math.max(0, Math.min(board.nextCheckAt() - serviceTime.now(), sweepEvery() - sinceSweep()));
  }

  function sinceSweep(): Millis {
    return lastSweep === undefined ? Infinity : clock.monotonic() - lastSweep;
  }

  /** Whether one call for each of these jobs is cheaper than a listing of all. */
  function isFew(names: readonly JobName[]): boolean {
    const calls = names.reduce((sum, name) => sum + 1 + runnable(coordinator, name).spec.requires.length, 0);
    const pages = jobs.size / JOBS_PER_PAGE;
    return calls <= (rounds.slow ? Math.max(pages, rounds.tookMs / CALL_MS) : pages);
  }

  async function checkEach(fire: Fire, names: readonly JobName[]): Promise<void> {
    await Promise.all(
      names.map((name) =>
        gate(
          async () => {
            const askedAt = clock.monotonic();
            await decideOnAll(state, fire, { listing: await listWithRequired(name), askedAt }, [name]);
          },
          claimRank(runnable(coordinator, name).spec),
        ),
      ),
    );
  }

  async function checkAll(fire: Fire): Promise<void> {
    const askedAt = clock.monotonic();
    const isFirstPart = !rounds.going;
    const { part, whole } = await rounds.next(board.nextCheckAt() - serviceTime.now());
    if (isFirstPart) heedBounds(coordinator, part, fire.report);
    tellSlowListing(coordinator, rounds.tooSlow ? part : undefined, fire.report);
    // The rows of another list are none of this deployment's business.
    const names = claimsOf(coordinator) === 'none' ? [] : board.jobs();
    const shown = names.filter((name) => part.jobs.get(name)?.row !== undefined);
    await decideOnAll(state, fire, { listing: part, askedAt }, shown);
    if (whole === undefined) return;
    lastSweep = askedAt;
    // These follow even if only runs that have begun may continue.
    tellStrays(coordinator, whole, fire.report);
    if (claimsOf(coordinator) !== 'none') state.background.start(orchestrations.check(whole, fire.hub, fire.report));
    coordinator.telemetry?.swept(whole);
    if (claimsOf(coordinator) !== 'all') return;
    firstSight.lacking(whole);
    workAside(whole, fire.report);
  }
}

/** Lists jobs, corrects the time by the answers, and notices a clock that was set. */
function createLister({ coordinator, board }: TickState) {
  const { clock, serviceTime, handOvers, jobs } = coordinator;
  /** The clock correction at the time when the board's instants were noted. */
  let notedSkew: Millis = 0;
  const list = async (options: ListOptions): Promise<Listing> => {
    const sent = moment(clock);
    const listing = await within(clock, LISTING_LIMIT_MS, (signal) => coordinator.store.list({ ...options, signal }));
    serviceTime.observe(listing.date, sent);
    handOvers.listed(elapsedSince(clock, sent));
    if (Math.abs(serviceTime.skewMs - notedSkew) > TIME_MOVED_MS) {
      notedSkew = serviceTime.skewMs;
      board.noteAll('clockCorrected', null);
    }
    return listing;
  };
  /** One job, and the jobs that it requires if an instance could claim it now. */
  const listWithRequired = async (name: JobName): Promise<Listing> => {
    const own = await list({ job: name });
    if (own.jobs.get(name)?.row?.lease === 'leased') return own;
    const requires = jobs.get(name)?.spec.requires ?? [];
    const required = await Promise.all(requires.map((job) => list({ job })));
    return { ...own, jobs: new Map([...own.jobs, ...required.flatMap((listing) => [...listing.jobs])]) };
  };
  /** How far the wall clock was ahead of the monotonic one at the last call. */
  let ahead: Millis | undefined;
  /** Whether the wall clock was set, or the machine slept, after the last call. */
  const clockWasSet = (): boolean => {
    const before = ahead;
    ahead = clock.now() - clock.monotonic();
    return before !== undefined && Math.abs(ahead - before) > TIME_MOVED_MS;
  };
  return { list, listWithRequired, clockWasSet };
}

/**
 * What a sweep does beside claims. It may take minutes: of many jobs, or while storage is slow. No tick waits for it
 * longer than it lasts anyway, because it would claim nothing meanwhile.
 */
function asides({ coordinator, overdue, notices, background }: TickState): (whole: Listing, report: Report) => void {
  const purge = recordPurger(coordinator);
  const markLeft = leftRows(coordinator);
  const [deletes, marks, tells] = [background.aside(), background.aside(), background.aside()];
  return (whole, report) => {
    deletes(() => purge(whole, report));
    marks(() => markLeft(whole, report));
    tells(() => {
      const checked = overdue.check(whole, report);
      // A notice that a job is overdue needs the ledger's answer.
      const told = (): Promise<void> | undefined => notices.check(whole, report);
      return checked === undefined ? told() : checked.then(told);
    });
  };
}

/** The returned function plans the look-aheads of all due times, unless it did so a moment ago. */
function burstPlanner({ coordinator, board, claimRate }: TickState): () => void {
  const { clock, handOvers, settings } = coordinator;
  const { lookAheadMs: usualMs, longestLookAheadMs: mostMs = usualMs } = settings;
  let plannedAt: Millis = -Infinity;
  return () => {
    const now = clock.monotonic();
    if (mostMs <= usualMs || now - plannedAt < PLAN_EVERY_MS) return;
    plannedAt = now;
    const lookAheadMs = handOvers.lookAhead(usualMs, mostMs);
    board.planBursts({ lookAheadMs, mostMs, perSecond: claimRate.perSecond }, usualMs);
  };
}

/** Reports foreign blobs with which programs that use the SDK cannot list, and their removal. */
function tellStrays(coordinator: Coordinator, { strays }: Listing, report: Report): void {
  const harmful = strays?.harmful ?? [];
  if (harmful.length === 0) {
    troubleOver(coordinator, TROUBLE, 'no blob under jobs/ breaks listings any more', report);
    return;
  }
  const reason =
    `${harmful.join(', ')}: not written by cronlease, and ignored. The metadata breaks listings by older versions and ` +
    'other programs: delete the blob';
  troubled(coordinator, TROUBLE, { reason }, report);
}

/** @param part a part of a listing that needs several; undefined if one was enough */
function tellSlowListing(coordinator: Coordinator, part: Listing | undefined, report: Report): void {
  if (part === undefined) {
    troubleOver(coordinator, SLOW, 'jobs/ is listed in time again', report);
    return;
  }
  const some = part.strays?.names[0];
  const remedy = some === undefined ? '' : `: delete blobs that cronlease did not write, such as ${some}`;
  troubled(coordinator, SLOW, { reason: `one listing of jobs/ takes longer than a tick allows${remedy}` }, report);
}

/** Longer than any lease with its margin: by then, no holder from before trusts any more. */
const MADE_AGAIN_AFTER_MS: Millis = 75_000;
const LIMIT_MS: Millis = 10_000;

/**
 * Makes the container if it is missing: at the start, and once it has been missing for long. Then nothing is stored any
 * more that a claim could contradict, and once all leases from before are over, no instance believes to hold one. A new
 * instance makes the container at its start without this wait, as it must: it cannot tell a deleted container from one
 * that never was. Decision 034.
 */
function createContainerWatch({ clock, serviceTime, store }: Coordinator) {
  let isPrepared = false;
  /** When it was first missed, on the monotonic clock. */
  let since: Millis | undefined;
  return {
    /** Whether it has existed in this process's life. */
    get isPrepared() {
      return isPrepared;
    },
    async prepare({ event }: Report): Promise<void> {
      const wasDeleted = since !== undefined && clock.monotonic() - since >= MADE_AGAIN_AFTER_MS;
      if (isPrepared && !wasDeleted) return;
      await within(clock, LIMIT_MS, (signal) => store.prepare({ signal }));
      isPrepared = true;
      since = undefined;
      if (!wasDeleted) return;
      const reason =
        `the container at ${store.location} had been deleted, and was created again: jobs without records count as new, ` +
        'and their tokens begin at 1; if their handlers write under a fence, raise the tokens with "cronlease recover ' +
        '--after-failover"';
      event({ event: 'warning', at: serviceTime.now(), reason });
    },
    /** Carries out a step of the tick, and notes whether the container is missing. */
    async watch<T>(step: () => Promise<T>): Promise<T> {
      try {
        const result = await step();
        since = undefined;
        return result;
      } catch (error) {
        if (error instanceof StoreUnavailableError && error.noContainer) since ??= clock.monotonic();
        throw error;
      }
    },
  };
}
