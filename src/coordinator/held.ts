import type { EpochMs, ETag, JobName, Millis } from '../core/brand';
import type { Control } from '../core/control';
import { CLAIM_MS, SLOW_CALL_MS } from '../core/early-claim';
import type { CoordinatorEvent } from '../core/event';
import { type JobSpec, actualTime } from '../core/job';
import { runIdOf } from '../core/key';
import { sameMetadata } from '../core/metadata';
import type { AttemptRecord, LedgerRecord } from '../core/record';
import { type Row, encodeRow } from '../core/row';
import { type Lease, acquireOnce, release } from '../lease/acquire';
import { untilAnswered } from '../lease/deadline';
import { type KeptAlive, keepAlive } from '../lease/keep-alive';
import {
  type ControlStore,
  type GroupStore,
  type LeaseStore,
  type LedgerStore,
  type LogStore,
  type PieceStore,
  type RequestStore,
  StoreError,
} from '../lease/store';
import { type Dated, timeWithin } from '../lease/service-time';
import { type Moment, type Trust, elapsedSince, moment } from '../lease/trust';
import type { Coordinator, Report, RunnableJob } from './coordinator';
import { renewalAnswers, renewalEnded, renewalTroubled } from './reachability';
import { lookAfterLost } from './lost-run';
import {
  type MarkAnswer,
  type RunEnd,
  type StartedAttempt,
  finishDecided,
  runKey,
  settle,
  settleFound,
  suspend,
  writeMark,
} from './settle';
import { type Ask, type RowWriter, asking } from './row-writer';

/**
 * The storage calls that the holder of a row may make at any time. Writes of rows and records, and calls for leases,
 * are left out: those are safe in only one order.
 */
export type AnytimeStore = Pick<ControlStore, 'readControl'> &
  Pick<LeaseStore, 'list' | 'location'> &
  Pick<LedgerStore, 'readRecord' | 'listRecords'> &
  Pick<LogStore, 'createLog' | 'appendLog' | 'readLog'> &
  Pick<PieceStore, 'createPiece' | 'readPiece' | 'listPieces' | 'deletePiece'> &
  Pick<RequestStore, 'readRequest'> &
  GroupStore;

/** The service's time while a row is held. This machine's clock may have been set since storage last answered. */
export function timeOf({
  coordinator: { clock, serviceTime },
  claimed,
}: Pick<HeldRow, 'coordinator' | 'claimed'>): EpochMs {
  return timeWithin(clock, serviceTime.now(), claimed);
}

export interface RenewalListener {
  /** Called once: the lease is lost, or the trust is over. */
  readonly onLost: (why: string) => void;
  /** Called with the job's control record after each renewal. */
  readonly onControl: (control: Control) => void;
  /** Whether the handler is over, so that no control ends it any more. */
  readonly isOver?: () => boolean;
}

/** A row's first write under a lease: the claim, or a decision that runs nothing. */
export interface FirstWrite {
  readonly row: Row;
  /** How long the write may still take. */
  readonly remaining: () => Millis;
  /** The holder's trust in its lease, given the write's answer. */
  readonly trustFrom: (written: Written) => Trust;
}

/**
 * Writes a row for the first time under a lease, which another instance may have acquired, with the ETag of the row
 * that was decided on.
 *
 * @returns undefined when another execution has written the row, or holds the lease by now
 * @throws StoreError when storage does not answer: the write may have taken effect
 */
export async function holdRow(
  coordinator: Coordinator,
  report: Report,
  guard: Lease & { readonly job: RunnableJob },
  { row, remaining, trustFrom }: FirstWrite,
): Promise<{ readonly held: HeldRow; readonly answerLost: boolean } | undefined> {
  const written = await writeRow(coordinator, guard.job.spec.name, guard, row, remaining);
  if (written === undefined) return undefined;
  const { etag, date, answerLost } = written;
  const claimed = { date, monotonic: coordinator.clock.monotonic() };
  const isSlow = elapsedSince(coordinator.clock, written.sent) > SLOW_CALL_MS;
  const first = { row, claimed, trust: trustFrom(written), isSlow };
  return { held: new HeldRow(coordinator, report, { ...guard, etag }, first), answerLost };
}

/**
 * Writes a row that no instance works on and that owes nothing under its lease, and releases it: there are no records
 * to wait for.
 */
export async function writeAtRest(
  coordinator: Coordinator,
  name: JobName,
  lease: Lease,
  row: Row,
  remaining: () => Millis,
): Promise<boolean> {
  const written = await writeRow(coordinator, name, lease, row, remaining);
  if (written === undefined) return false;
  await release(coordinator, name, { ...lease, etag: written.etag }, remaining);
  return true;
}

/**
 * A row that this process has written under its lease. A release before the records would make the run look settled,
 * and records before the row would let a slower clock run a due time that is recorded as not run. So only `settle`,
 * `settleFound`, `suspend` and `finishDecided` write or release this row, and keep the order. The holder calls one of
 * them, once. If it calls none, or the call fails, the lease expires, and the next holder continues from what was
 * written.
 */
class HeldRow {
  /** The row with its writes and its release, for the settle order. */
  readonly #writer: RowWriter & { row: Row };
  readonly #lease: Omit<Lease, 'etag'> & { etag: ETag };
  readonly #isSlow: boolean;
  #renewals: KeptAlive | undefined;
  #hasEnded = false;
  readonly coordinator: Omit<Coordinator, 'store'> & { readonly store: AnytimeStore };
  readonly report: Report;
  readonly job: RunnableJob;
  readonly trust: Trust;
  /** The service's Date of the first write under this lease, and when that was answered, on the monotonic clock. */
  readonly claimed: Dated;
  readonly ask: Ask<AnytimeStore>;

  constructor(
    coordinator: Coordinator,
    report: Report,
    { job, ...lease }: Lease & { readonly job: RunnableJob },
    first: { readonly row: Row; readonly claimed: Dated; readonly trust: Trust; readonly isSlow: boolean },
  ) {
    const ask = asking(coordinator, () => this.trust.remaining());
    this.coordinator = coordinator;
    this.report = report;
    this.job = job;
    this.trust = first.trust;
    this.claimed = first.claimed;
    this.ask = ask;
    this.#lease = { ...lease };
    this.#isSlow = first.isSlow;
    this.#writer = {
      coordinator,
      report,
      job,
      row: first.row,
      mark: undefined,
      ask,
      event: (event, details) => this.event(event, details),
      write: (next) => this.#write(next),
      release: () => this.#release(),
    };
  }

  /** As it was written last. */
  get row(): Row {
    return this.#writer.row;
  }

  /** The ETag of that write. The next attempt of this run acquires with it. */
  get etag(): ETag {
    return this.#lease.etag;
  }

  /** The key of the run's record. */
  get key(): string {
    return runKey(this.row);
  }

  /** Reports an event of the row's run, as of now. */
  event(event: CoordinatorEvent['event'], details?: Partial<CoordinatorEvent>): void {
    const { name } = this.job.spec;
    const { run, token, attempt } = this.row;
    const { coordinator } = this;
    this.report.event({
      at: coordinator.serviceTime.now(),
      job: name,
      ...(run && { scheduledFor: run.scheduledFor, runId: runIdOf(name, run.key) }),
      token,
      attempt,
      event,
      ...details,
    });
  }

  /** Renews the lease until its release, or until the returned function is called. */
  keepAlive(listener: RenewalListener): () => void {
    this.#renewals = renewing(this.#writer, this.#lease, this.trust, this.#isSlow, listener);
    return () => this.#renewals?.stop();
  }

  /** Marks the run as begun by this claim, before its handler is called: {@link writeMark}. */
  mark(attempts: readonly AttemptRecord[]): Promise<MarkAnswer> {
    return writeMark(this.#writer, attempts);
  }

  /** Ends the run: {@link settle}. */
  async settle(
    attempts: readonly AttemptRecord[],
    how: RunEnd,
    beforeRelease: () => Promise<void> = async () => undefined,
  ): Promise<LedgerRecord | undefined> {
    return settle(this.#end(), attempts, how, beforeRelease);
  }

  /** Ends a claim whose run had ended before: {@link settleFound}. */
  async settleFound(record: LedgerRecord): Promise<void> {
    return settleFound(this.#end(), record);
  }

  /** Leaves the run to a later attempt, or to its items: {@link suspend}. */
  async suspend(attempt: StartedAttempt | undefined, next: Parameters<typeof suspend>[2]): Promise<boolean> {
    return suspend(this.#end(), attempt, next);
  }

  /** Ends a decision that runs nothing: {@link finishDecided}. */
  async finishDecided(): Promise<void> {
    return finishDecided(this.#end());
  }

  /** Looks after the run of an attempt that has lost this row: {@link lookAfterLost}. */
  lookAfterLost(): Promise<void> {
    const { leaseId, etag } = this.#lease;
    return lookAfterLost(this.#writer, this.#mayGrowLate ? { leaseId, leaseMs: CLAIM_MS, etag } : undefined);
  }

  /** A call for a longer lease has no answer. */
  get #mayGrowLate(): boolean {
    return this.#renewals?.mayGrowLate === true;
  }

  async #write(next: Row): Promise<boolean> {
    const { coordinator } = this.#writer;
    const written = await writeRow(coordinator, this.job.spec.name, this.#lease, next, () => this.trust.remaining());
    if (written === undefined) return false;
    this.#writer.row = next;
    this.#lease.etag = written.etag;
    return true;
  }

  async #release(): Promise<void> {
    this.#renewals?.stop();
    // Of another version, the row cannot be taken again by a call for a longer lease that arrives after the release.
    if (this.#mayGrowLate && !(await this.#write(this.row))) return;
    await release(this.#writer.coordinator, this.job.spec.name, this.#lease, () => this.trust.remaining());
  }

  /** After the first end, another holder may have the row, and a second end would write over it. */
  #end(): RowWriter {
    if (this.#hasEnded) throw new Error(`the row of job "${this.job.spec.name}" has been settled or suspended already`);
    this.#hasEnded = true;
    return this.#writer;
  }
}

/** Only {@link holdRow} makes one, with the row's first write. */
export type { HeldRow };

/** No run is claimed longer before its due time: the longest look-ahead is 60 s, and clocks are a little off. */
const AHEAD_AT_MOST_MS: Millis = 90_000;

/**
 * The instant for which the handler of a row's run waits; 0: it does not wait. A run that was claimed for an earlier
 * time has waited for that: its job has got a longer `spread` since.
 */
export function handlerDue(job: JobSpec, { run }: Row): EpochMs {
  if (run?.trigger !== 'schedule') return 0;
  const due = actualTime(job, run.scheduledFor);
  return due - run.since > AHEAD_AT_MOST_MS ? 0 : due;
}

function renewing(
  { coordinator, report, job, row }: RowWriter,
  lease: Lease,
  trust: Trust,
  isSlow: boolean,
  listener: RenewalListener,
): KeptAlive {
  const { leaseId, leaseMs } = lease;
  const { store, clock, random, serviceTime } = coordinator;
  const { name, leaseMs: longer } = job.spec;
  const grow = (signal: AbortSignal) =>
    acquireOnce(coordinator, name, { leaseId, leaseMs: longer, etag: lease.etag }, signal);
  let troubles = 0;
  const alive = keepAlive({
    store,
    clock,
    random,
    job: name,
    leaseId,
    leaseMs,
    growth: longer <= leaseMs ? undefined : { leaseMs: longer, isUrgent: isSlow, acquire: grow },
    trust,
    untilDueMs: handlerDue(job.spec, row) - serviceTime.now(),
    ...listener,
    hasOthers: () => coordinator.running.size > 1,
    onRenewed: () => {
      troubles = 0;
      renewalAnswers(coordinator, name, report);
    },
    onDate: (date, sent) => serviceTime.observe(date, sent),
    onTrouble: (problem) => {
      troubles += 1;
      // The next renewal makes up for a single lost call, which is not worth an event.
      if (troubles > 1 && problem instanceof StoreError) renewalTroubled(coordinator, name, problem, report);
      else report.log('debug', `job "${name}": renewing its lease:`, problem);
    },
  });
  return {
    stop: () => {
      alive.stop();
      renewalEnded(coordinator, name);
    },
    get mayGrowLate() {
      return alive.mayGrowLate;
    },
  };
}

export interface Written {
  readonly etag: ETag;
  /** The service's Date from an answer, and when the call of that answer was sent. */
  readonly date: EpochMs;
  readonly sent: Moment;
  /** As in `ListedRow`. */
  readonly leftMs: Millis | undefined;
  /** The write took effect, but its answer was lost, and the row was read back. */
  readonly answerLost: boolean;
}

/**
 * Writes a row under its lease, and repeats the write when an answer is lost. A refused repetition may have met our own
 * first write, so the row is then read back and compared.
 *
 * @returns undefined when the write was refused
 */
async function writeRow(
  { store, clock, random, serviceTime, load }: Coordinator,
  name: JobName,
  { leaseId, etag }: Lease,
  row: Row,
  remaining: () => Millis,
): Promise<Written | undefined> {
  const metadata = encodeRow(row);
  let calls = 0;
  let sent = moment(clock);
  const answer = await untilAnswered({ clock, random }, remaining, (signal) => {
    calls += 1;
    sent = moment(clock);
    return store.writeRow(name, metadata, { leaseId, ifMatch: etag }, { signal });
  });
  if (answer.kind === 'written') {
    serviceTime.observe(answer.date, sent);
    load.wrote(elapsedSince(clock, sent));
    return { etag: answer.etag, date: answer.date, sent, leftMs: answer.leftMs, answerLost: calls > 1 };
  }
  if (calls === 1) return undefined;
  const listing = await untilAnswered({ clock, random }, remaining, (signal) => {
    sent = moment(clock);
    return store.list({ job: name, signal });
  });
  const seen = listing.jobs.get(name)?.row;
  if (seen === undefined || !sameMetadata(seen.metadata, metadata)) return undefined;
  return { etag: seen.etag, date: listing.date, sent, leftMs: seen.leftMs, answerLost: true };
}
