import type { EpochMs, ETag, JobName, LeaseId, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { sleep } from '../../core/clock';
import type { Decision } from '../../core/decide';
import { HELD_WATCH_MS } from '../../core/decide';
import { claimTime } from '../../core/verdict';
import { encodeRow, firstCursor, newRow } from '../../core/row';
import { backOff } from '../../lease/back-off';
import { within } from '../../lease/deadline';
import type { Listing, ListOptions } from '../../lease/store';
import { StoreError } from '../../lease/store';
import { elapsedSince, moment } from '../../lease/trust';
import type { Coordinator, Hub, Report, RunnableJob } from '../coordinator';
import { createGate } from '../gate';
import { turnOf } from '../give-back';
import { sayTroublesAgain, storageAnswers, storageTroubled } from '../reachability';
import { Board } from './board';
import type { JobNotes } from './board';
import { hubWatch } from './hub-watch';
import { look } from './look';
import type { Looked } from './look';
import { overdueWatch } from './overdue';
import { announcer } from './presence';
import { purger } from './purge';
import { handOver } from './race';
import { listingRounds } from './rounds';
import { tellSlowListing, tellStrays } from './strays';
import { writeDecided } from './write-decided';

/** Claims side by side. */
const CLAIMS_AT_ONCE = 32;
/** How long other deployments let the incumbent go first. */
const HOLD_BACK_MS = 350;
/** A tick returns this long before its next fire: a timer skips the fires that it outlives. */
const RETURN_BEFORE_MS = 300;
const FIRES_EARLY_MS = 500;
const WATCH_FIRST_MS = 100;
const WATCH_AT_MOST_MS = 2_000;
const STORE_AGAIN_FIRST_MS = 500;
const STORE_AGAIN_MS = 2_000;
const LISTING_LIMIT_MS = 10_000;
/** What was noted by a time that was this far off is not waited for. */
const TIME_MOVED_MS = 2_000;
/** Rows and controls in one page of a listing: below this many pages a listing of all is cheaper than one a job. */
const JOBS_PER_PAGE = 250;

/** The tick timer's side of the coordinator: one for each process, called once a fire. */
export interface Ticker {
  /** @param nextFire the timer's next fire after an instant of this machine's clock */
  tick(hub: Hub, nextFire: (after: EpochMs) => EpochMs, report: Report): Promise<void>;
}

export function createTicker(coordinator: Coordinator): Ticker {
  const { clock, serviceTime, settings } = coordinator;
  const board = new Board(coordinator.jobs.keys());
  const gate = createGate(CLAIMS_AT_ONCE);
  const watch = hubWatch(coordinator);
  const announce = announcer(coordinator);
  const overdue = overdueWatch(coordinator);
  const purge = purger(coordinator);
  const rounds = listingRounds(clock, list);
  let prepared = false;
  let lastSweep: Millis | undefined;
  let going = 0;
  /** The correction of time under which the board's instants were noted. */
  let notedSkew: Millis = 0;
  /** By how much the wall clock was ahead of the monotonic one at the last step. */
  let wallAhead: Millis | undefined;
  /** Counts the fires that were served. */
  let fires = 0;
  /** Wakes the tick: an action that is over has set when to look again. */
  let actionOver = new AbortController();

  return {
    async tick(hub, nextFire, report) {
      const stop = new AbortController();
      const wake = (): void => {
        stop.abort();
        actionOver.abort();
      };
      const running = { wake, done: serve(hub, nextFire, stop.signal, report) };
      coordinator.ticks.add(running);
      try {
        await running.done;
      } finally {
        coordinator.ticks.delete(running);
      }
    },
  };

  async function serve(
    hub: Hub,
    nextFire: (after: EpochMs) => EpochMs,
    stopped: AbortSignal,
    report: Report,
  ): Promise<void> {
    // A timer may fire a little early: what comes within this long is the fire that called.
    let untilFire = countdown(clock, nextFire(clock.now() + FIRES_EARLY_MS));
    let firstLook = true;
    let again = newBackOff();
    fires += 1;
    while (!coordinator.stopping) {
      coordinator.tickedAt = clock.monotonic();
      if (untilFire() <= RETURN_BEFORE_MS) {
        if (going > 0) await settleDown();
        if (untilFire() > 0) break;
        // This tick has outlived a fire, which the timer skips: it serves that one's stretch as well.
        untilFire = countdown(clock, nextFire(clock.now()));
        firstLook = true;
        fires += 1;
      }
      const left = (): Millis => untilFire() - RETURN_BEFORE_MS;
      try {
        // Before the step: what ends during it may have set an earlier look than the step saw.
        actionOver = new AbortController();
        proveHub(hub, left, stopped, report);
        const wait = await step(hub, firstLook, report);
        proveHub(hub, left, stopped, report);
        if (watch.mayRace) announce(hub, report);
        firstLook = false;
        storageAnswers(coordinator, 'storage', report);
        again = newBackOff();
        if (wait <= left() || !watch.mayRace) {
          await sleep(clock, Math.max(0, Math.min(wait, left())), actionOver.signal);
        } else {
          if (going === 0 && untilFire() > 0) break;
          await settleDown();
        }
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        storageTroubled(coordinator, 'storage', error, report);
        await sleep(clock, Math.min(again(error), Math.max(0, left())), stopped);
      }
    }
    await settleDown();
    sayTroublesAgain(coordinator, report);
    purge(hub, report);
    if (prepared) announce(hub, report);
  }

  /** A doubt about the task hub stops claims, and nothing else: its proof is sought beside the looks. */
  function proveHub(hub: Hub, left: () => Millis, stopped: AbortSignal, report: Report): void {
    const proof = watch.prove(hub, left, stopped, report);
    if (proof === undefined) return;
    goesOn(
      proof.then((proven) => {
        if (proven) board.hubProven(serviceTime.now());
      }),
    );
  }

  function newBackOff(): ReturnType<typeof backOff> {
    return backOff(coordinator.random, STORE_AGAIN_FIRST_MS, STORE_AGAIN_MS);
  }

  /** Looks at what wants to be looked at, and acts on it. Returns how long nothing more is to be done. */
  async function step(hub: Hub, firstLook: boolean, report: Report): Promise<Millis> {
    if (!prepared) {
      await within(clock, LISTING_LIMIT_MS, (signal) => coordinator.store.prepare({ signal }));
      prepared = true;
    }
    if (clockWasSet()) {
      lastSweep = undefined;
      // Looks noted meanwhile may lie as far ahead as the clock was.
      board.lookAgain();
    }
    const due = board.due(serviceTime.now());
    const sweep = sinceSweep() >= settings.sweepIntervalMs || (firstLook && board.anyInFlight);
    const all = sweep || rounds.going;
    if (rounds.slow) {
      // Those that are due do not wait for a listing that takes long.
      await Promise.all(due.map((job) => gate(() => lookAtOne(hub, job, report))));
      if (all) await lookAtAll(hub, report);
    } else if (all || due.length > coordinator.jobs.size / JOBS_PER_PAGE) {
      await lookAtAll(hub, report);
    } else {
      await Promise.all(due.map((job) => lookAtOne(hub, job, report)));
    }
    return Math.max(0, Math.min(board.nextLook() - serviceTime.now(), settings.sweepIntervalMs - sinceSweep()));
  }

  /** Somebody set the wall clock, or the machine slept: the correction is of before, and a listing makes it anew. */
  function clockWasSet(): boolean {
    const before = wallAhead;
    wallAhead = clock.now() - clock.monotonic();
    return before !== undefined && Math.abs(wallAhead - before) > TIME_MOVED_MS;
  }

  function sinceSweep(): Millis {
    return lastSweep === undefined ? Infinity : clock.monotonic() - lastSweep;
  }

  async function list(options: ListOptions): Promise<Listing> {
    const sent = moment(clock);
    const listing = await within(clock, LISTING_LIMIT_MS, (signal) => coordinator.store.list({ ...options, signal }));
    serviceTime.observe(listing.date, sent);
    if (Math.abs(serviceTime.skewMs - notedSkew) > TIME_MOVED_MS) {
      notedSkew = serviceTime.skewMs;
      board.lookAgain();
    }
    return listing;
  }

  async function lookAtAll(hub: Hub, report: Report): Promise<void> {
    const jobs = [...coordinator.jobs.values()];
    let askedAt = clock.monotonic();
    const { part, whole } = await rounds.next(board.nextLook() - serviceTime.now());
    tellSlowListing(coordinator, rounds.slow ? part : undefined, report);
    if (rounds.slow) {
      const inPart = jobs.filter(({ spec }) => part.jobs.get(spec.name)?.row !== undefined);
      await Promise.all(inPart.map((job) => decideOn(hub, job, part, askedAt, report)));
    }
    if (whole === undefined) return;
    let listing = whole;
    const missing = jobs.filter(({ spec }) => listing.jobs.get(spec.name)?.row === undefined);
    if (missing.length > 0) {
      await Promise.all(missing.map((job) => gate(() => createRow(job, listing.date))));
      askedAt = clock.monotonic();
      if (rounds.slow) await Promise.all(missing.map(({ spec }) => gate(() => lookAtOne(hub, spec.name, report))));
      else listing = await list({});
    }
    lastSweep = askedAt;
    tellStrays(coordinator, listing, report);
    if (!rounds.slow) await Promise.all(jobs.map((job) => decideOn(hub, job, listing, askedAt, report)));
    const check = overdue.check(listing, report);
    if (check !== undefined) goesOn(check);
  }

  /** The tick looks on meanwhile, and does not end before it: what is said belongs to this call of it. */
  function goesOn(action: Promise<unknown>): void {
    going += 1;
    void action.finally(() => {
      going -= 1;
      actionOver.abort();
    });
  }

  async function lookAtOne(hub: Hub, name: JobName, report: Report): Promise<void> {
    const job = coordinator.jobs.get(name);
    const askedAt = clock.monotonic();
    const listing = await list({ job: name });
    if (job !== undefined) await decideOn(hub, job, listing, askedAt, report);
  }

  /** A job seen for the first time owes nothing before now; an `@at` that is seen late is still due. */
  async function createRow({ spec }: RunnableJob, date: EpochMs): Promise<void> {
    const row = newRow(firstCursor(spec, date), coordinator.revision, spec.scheduleHash);
    await within(clock, LISTING_LIMIT_MS, (signal) =>
      coordinator.store.createRow(spec.name, encodeRow(row), { signal }),
    );
  }

  async function decideOn(
    hub: Hub,
    job: RunnableJob,
    listing: Listing,
    askedAt: Millis,
    report: Report,
  ): Promise<void> {
    const notes = board.notes(job.spec.name);
    const seen = listing.jobs.get(job.spec.name);
    if (notes.busy) return;
    if (seen?.row === undefined) {
      // Somebody removed the row: the next sweep makes it anew.
      notes.lookAt = undefined;
      return;
    }
    const givesBack = watch.sawRow(job.spec.name, seen.row, askedAt, report);
    if (givesBack !== undefined) goesOn(givesBack);
    const version = `${seen.row.etag} ${seen.row.lease} ${seen.control?.etag ?? ''}`;
    const calm = seen.row.lease === 'available' && (notes.lookAt ?? Infinity) > serviceTime.now();
    if (calm && notes.seen === version) return;
    // Should the look fail, the next try begins with this job, and does not wait for a sweep.
    notes.lookAt = serviceTime.now();
    const looked = await look(
      coordinator,
      job,
      notes,
      { row: seen.row, control: seen.control, listedAt: seen.date },
      report,
    );
    notes.seen = version;
    if (looked === undefined) {
      notes.lookAt = undefined;
      notes.inFlight = false;
      return;
    }
    note(notes, looked);
    act(hub, job, notes, looked, report);
  }

  function note(notes: JobNotes, { decision, row, lease }: Looked): void {
    const now = serviceTime.now();
    notes.inFlight =
      lease === 'held' ||
      // An expired row that wants nothing is settled.
      (lease === 'expired' && decision.kind !== 'nothing') ||
      row.phase === 'retrying' ||
      row.phase === 'fanning';
    const foreign = row.incumbent !== undefined && row.incumbent !== coordinator.deployment;
    switch (decision.kind) {
      case 'nothing':
        // The incumbent goes first: this deployment's first look comes after its hold-back.
        notes.holdUntil = foreign && decision.lookAt !== undefined ? decision.lookAt + HOLD_BACK_MS : undefined;
        notes.lookAt = notes.holdUntil ?? decision.lookAt;
        notes.watchDelayMs = WATCH_FIRST_MS;
        return;
      case 'wait':
        notes.holdUntil = undefined;
        notes.lookAt = watchAgain(notes, now, decision.until);
        return;
      case 'claim':
      case 'record':
        // A hold-back that was noted for a later due time says nothing about this claim. Where the items of a run are
        // silent it is the incumbent that is in doubt.
        if (isSilent(decision) ? !foreign : foreign)
          notes.holdUntil = Math.min(notes.holdUntil ?? Infinity, now + HOLD_BACK_MS);
        notes.lookAt = notes.holdUntil !== undefined && notes.holdUntil > now ? notes.holdUntil : undefined;
        return;
      case 'readRecord':
      case 'readBeat':
      case 'lowerRevision':
        notes.lookAt = undefined;
        notes.holdUntil = undefined;
    }
  }

  /** A held row is looked at the more often the nearer its due time is, and ever more seldom after it. */
  function watchAgain(notes: JobNotes, now: EpochMs, until: EpochMs | 'tickEnds'): EpochMs {
    const beforeDue = until === 'tickEnds' ? 0 : until - HELD_WATCH_MS - now;
    if (beforeDue > 0) {
      notes.watchDelayMs = WATCH_FIRST_MS;
      return now + Math.min(WATCH_AT_MOST_MS, Math.max(WATCH_FIRST_MS, beforeDue / 6));
    }
    const delay = Math.max(WATCH_FIRST_MS, notes.watchDelayMs);
    notes.watchDelayMs = Math.min(WATCH_AT_MOST_MS, delay * 2);
    return until === 'tickEnds' ? now + delay : Math.min(now + delay, Math.max(now + WATCH_FIRST_MS, until));
  }

  /** Claims and records go on side by side with the next looks. */
  function act(hub: Hub, job: RunnableJob, notes: JobNotes, looked: Looked, report: Report): void {
    const { decision, etag, lease } = looked;
    if ((decision.kind !== 'claim' && decision.kind !== 'record') || lease === 'held') return;
    if (notes.lookAt !== undefined || coordinator.stopping) return;
    if (isSilent(decision) && notes.silence !== etag) {
      notes.silence = etag;
      report.log('warn', `job "${job.spec.name}": nobody has worked on the items of its run for 45 s`);
      if (looked.row.incumbent === coordinator.deployment) watch.lookAtHub();
    }
    if (decision.kind === 'claim' && !watch.mayRace) {
      notes.waitsForHub = true;
      notes.seen = undefined;
      return;
    }
    if (decision.kind === 'claim' && watch.isLeft(job.spec, turnOf(decision.claim, etag))) {
      notes.lookAt = serviceTime.now() + WATCH_AT_MOST_MS;
      notes.seen = undefined;
      return;
    }
    if (decision.kind === 'claim' && decision.claim.run.kind === 'term') {
      // A term is due once a tick: each tick looks, and a handler that returns at once is not called without end.
      notes.inFlight = true;
      if (notes.termOfFire === fires) {
        notes.seen = undefined;
        return;
      }
      notes.termOfFire = fires;
    }
    notes.busy = true;
    notes.holdUntil = undefined;
    going += 1;
    const action = gate(async () => {
      const leaseId = leaseIdFor(notes, etag, lease);
      if (decision.kind === 'record')
        return writeDecided(coordinator, job, { row: decision.row, etag, leaseId }, report);
      const claim = { ...decision.claim, row: overdue.told(job.spec.name, decision.claim.row) };
      return handOver(coordinator, hub, job, { claim, etag, lease, leaseId });
    });
    void action
      .catch((error: unknown) => {
        if (error instanceof StoreError) storageTroubled(coordinator, 'writing', error, report);
        else {
          // An orchestration may have been started with this lease.
          notes.unanswered = undefined;
          watch.failed(job, error, report);
        }
        return undefined;
      })
      .then((won) => {
        if (won !== undefined) {
          notes.unanswered = undefined;
          storageAnswers(coordinator, 'writing', report);
        }
        notes.busy = false;
        notes.beat = undefined;
        going -= 1;
        notes.seen = undefined;
        notes.inFlight = true;
        notes.watchDelayMs = WATCH_FIRST_MS;
        notes.lookAt = lookAfter(job, decision, won);
        actionOver.abort();
      });
  }

  /** A new id, but for a row whose last acquisition got no answer: asked again under its id, that is a renewal. */
  function leaseIdFor(notes: JobNotes, etag: ETag, lease: 'available' | 'expired'): LeaseId {
    if (notes.unanswered?.etag !== etag) notes.unanswered = { etag, lease, leaseId: coordinator.newId() as LeaseId };
    return notes.unanswered.leaseId;
  }

  /** When to look again after a claim, won or lost: whatever goes on, each tick looks at what is in flight. */
  function lookAfter({ spec }: RunnableJob, decision: Decision, won: boolean | undefined): EpochMs {
    const now = serviceTime.now();
    if (decision.kind === 'record' && won === true) return now;
    // A backlog goes on as soon as the run that was claimed now may be over.
    const soon = now + (won === true ? WATCH_FIRST_MS : HOLD_BACK_MS);
    if (won === undefined || decision.kind !== 'claim' || decision.claim.run.kind === 'term') return soon;
    const next = spec.timetable.next(decision.claim.row.cursor);
    return next === undefined ? soon : Math.max(soon, claimTime(spec, next, settings.lookAheadMs));
  }

  async function settleDown(): Promise<void> {
    while (going > 0) {
      actionOver = new AbortController();
      await sleep(clock, STORE_AGAIN_MS, actionOver.signal);
    }
  }
}

/** Whether it is a claim before the deadline of items that are silent. */
function isSilent(decision: Decision): boolean {
  return decision.kind === 'claim' && decision.claim.isSilent === true;
}

/** How long it still is, by whichever clock says less: a wall clock that is set back must not make a tick outlast its host. */
function countdown(clock: Clock, instant: EpochMs): () => Millis {
  const start = moment(clock);
  return () => instant - start.wall - elapsedSince(clock, start);
}
