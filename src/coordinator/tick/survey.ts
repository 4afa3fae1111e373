import type { JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { claimRank } from '../../core/priority';
import { within } from '../../lease/deadline';
import type { Listing, ListOptions } from '../../lease/store';
import { moment } from '../../lease/trust';
import { decideOnAll, runnable } from './decide-on';
import { createFirstSight } from './first-sight';
import { burstPlanner } from './plan-bursts';
import { heedCordon } from './cordon';
import type { Fire, TickState } from './fire';
import { listingRounds } from './rounds';
import { tellSlowListing, tellStrays } from './strays';

const LISTING_LIMIT_MS = 10_000;
/** If the clock correction changes by more than this, looks noted under the old one are discarded. */
const TIME_MOVED_MS = 2_000;
/**
 * How many jobs one page of a listing shows. Calls for single jobs are cheaper if these are fewer than the pages of a
 * listing of all.
 */
const JOBS_PER_PAGE = 250;

/** The least time between two sweeps, for each job that they read. It keeps them below 2 % of a core. */
const SWEEP_JOB_MS = 8;
/** Sweeps that are set to come this seldom, or less often, are left as they are. */
const SPREAD_UP_TO_MS = 60_000;

/** Looks at jobs and starts due work: one call of `step` after another. One for each process. */
export interface Survey {
  /** Whether storage has answered once. */
  readonly prepared: boolean;
  /**
   * Looks at the jobs whose look is due, or at all jobs.
   *
   * @returns the time until the next look is due
   * @throws StoreError
   */
  step(fire: Fire, options: StepOptions): Promise<Millis>;
}

interface StepOptions {
  readonly isFirst: boolean;
  /** Sweeps, however young the last sweep is. */
  readonly mustSweep: boolean;
  /** The time until the tick should end. */
  readonly leftMs: Millis;
}

export function createSurvey(state: TickState): Survey {
  const { coordinator, board, gate } = state;
  const { clock, serviceTime, settings } = coordinator;
  const rounds = listingRounds(clock, list);
  const clockWasSet = clockSteps(clock);
  const planBursts = burstPlanner(state);
  const firstSight = createFirstSight(state);
  const sweepEveryMs = sweepInterval(settings.sweepIntervalMs, coordinator.jobs.size);
  let prepared = false;
  let lastSweep: Millis | undefined;
  /** The clock correction at the time when the board's instants were noted. */
  let notedSkew: Millis = 0;
  const inTurn = turns();

  return {
    get prepared() {
      return prepared;
    },
    step: (fire, options) => inTurn(() => stepOnce(fire, options)),
  };

  async function stepOnce(fire: Fire, { isFirst, mustSweep, leftMs }: StepOptions): Promise<Millis> {
    if (!prepared) await within(clock, LISTING_LIMIT_MS, (signal) => coordinator.store.prepare({ signal }));
    prepared = true;
    if (clockWasSet()) {
      // A listing corrects the clock. Looks noted before may be as far ahead as the clock was.
      lastSweep = undefined;
      board.clockCorrected();
    }
    planBursts();
    const due = board.due(serviceTime.now());
    const sweepIsDue = mustSweep || sinceSweep() >= sweepEveryMs || (isFirst && board.anyInFlight);
    const all = sweepIsDue || rounds.going || !isFew(due);
    // Due jobs do not wait for a long listing of all.
    if (!all || rounds.slow) await lookAtEach(fire, due);
    if (all) await lookAtAll(fire);
    if (firstSight.going) await createRows(leftMs);
    planBursts();
    if (firstSight.going) return 0;
    return Math.max(0, Math.min(board.nextLook() - serviceTime.now(), sweepEveryMs - sinceSweep()));
  }

  /** Rows of new jobs come after looks at those that are known, and again between them. */
  async function createRows(leftMs: Millis): Promise<void> {
    const limitMs = Math.min(leftMs, board.nextLook() - serviceTime.now());
    if (await firstSight.createSome(limitMs)) lastSweep = undefined;
  }

  function sinceSweep(): Millis {
    return lastSweep === undefined ? Infinity : clock.monotonic() - lastSweep;
  }

  /** Whether one call for each of these jobs is cheaper than a listing of all. */
  function isFew(jobs: readonly unknown[]): boolean {
    return rounds.slow || jobs.length <= coordinator.jobs.size / JOBS_PER_PAGE;
  }

  async function list(options: ListOptions): Promise<Listing> {
    const sent = moment(clock);
    const listing = await within(clock, LISTING_LIMIT_MS, (signal) => coordinator.store.list({ ...options, signal }));
    serviceTime.observe(listing.date, sent);
    if (Math.abs(serviceTime.skewMs - notedSkew) > TIME_MOVED_MS) {
      notedSkew = serviceTime.skewMs;
      board.clockCorrected();
    }
    return listing;
  }

  async function lookAtEach(fire: Fire, names: readonly JobName[]): Promise<void> {
    await Promise.all(
      names.map((name) =>
        gate(
          async () => {
            const askedAt = clock.monotonic();
            await decideOnAll(state, fire, { listing: await list({ job: name }), askedAt }, [name]);
          },
          claimRank(runnable(coordinator, name).spec),
        ),
      ),
    );
  }

  async function lookAtAll(fire: Fire): Promise<void> {
    const askedAt = clock.monotonic();
    const isFirstPart = !rounds.going;
    const { part, whole } = await rounds.next(board.nextLook() - serviceTime.now());
    if (isFirstPart) heedCordon(coordinator, part, fire.report);
    tellSlowListing(coordinator, rounds.slow ? part : undefined, fire.report);
    const names = board.jobs();
    const hasRow = (listing: Listing) => (name: JobName) => listing.jobs.get(name)?.row !== undefined;
    await decideOnAll(state, fire, { listing: part, askedAt }, names.filter(hasRow(part)));
    if (whole === undefined) return;
    firstSight.lacking(whole);
    lastSweep = askedAt;
    tellStrays(coordinator, whole, fire.report);
    const check = state.overdue.check(whole, fire.report);
    if (check !== undefined) state.actions.start(check);
  }
}

/** Sweeps of many jobs that are set to come every second or two, as on a developer's machine, come less often. */
function sweepInterval(setMs: Millis, jobs: number): Millis {
  return Math.max(setMs, Math.min(SPREAD_UP_TO_MS, jobs * SWEEP_JOB_MS));
}

/** One step after another: a poke may come during the timer's tick, and both share one listing in parts. */
function turns(): <T>(step: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (step) => {
    const own = last.then(step);
    last = own.catch(() => undefined);
    return own;
  };
}

/** The returned function returns whether somebody set the wall clock, or the machine slept, since its last call. */
function clockSteps(clock: Clock): () => boolean {
  let ahead: Millis | undefined;
  return () => {
    const before = ahead;
    ahead = clock.now() - clock.monotonic();
    return before !== undefined && Math.abs(ahead - before) > TIME_MOVED_MS;
  };
}
