import type { EpochMs, ETag, Millis } from '../core/brand';
import { controlOf } from '../core/control';
import type { Clock } from '../core/clock';
import type { Decision, Situation } from '../core/decide/situation';
import { decide } from '../core/decide/decide';
import { ITEMS_MARGIN_MS, type LastBeat, isSilent, itemsDeadlineMs, newestBeat, silentFrom } from '../core/fan-out';
import { type JobSpec, marginOf } from '../core/job';
import type { LedgerRecord } from '../core/record';
import { type RecordedEnd, recordedEnd, withRecordedEnd } from '../core/recorded-end';
import { type Row, checkAhead, decodeRow } from '../core/row';
import { isFanOut, isOrchestration, silentAfterMs } from '../handler/handlers';
import { CALL_LIMIT_MS, within } from '../lease/deadline';
import type { ListedControl, ListedRow } from '../lease/store';
import type { Coordinator, RunnableJob } from './coordinator';
import { listBeats } from './run-pieces';
import { readUnlessForeign } from './ledger';
import type { RequiredWatch, BackfillWatch } from './ledger-watch';
import type { Ask } from './row-writer';

export interface JobListing {
  readonly row: ListedRow;
  readonly control: ListedControl | undefined;
  /** The Date of the page that showed the row. */
  readonly listedAt: EpochMs;
}

export interface JobDecision {
  readonly decision: Decision;
  readonly row: Row;
  readonly etag: ETag;
  readonly lease: Situation['lease'];
}

/** The facts that this process has learned about one version of a row. A new version starts without any. */
export interface RowVersion {
  readonly etag: ETag;
  /** The Date of the first listing that showed it. */
  readonly firstSeenAt: EpochMs;
  /** The end of its run, if the run is known to have a final record. */
  readonly ended?: RecordedEnd;
  readonly beat?: LastBeat | undefined;
  /** When its lease was first seen broken, on the monotonic clock. */
  readonly brokenSince?: Millis | undefined;
  /** Its items are silent, and this process has logged it. */
  readonly silenceTold?: true;
}

export interface RowNotes {
  readonly version: RowVersion | undefined;
  /** An acquisition of this process that a listing may show, and the lease before it. */
  readonly unanswered: { readonly etag: ETag; readonly lease: 'available' | 'expired' } | undefined;
  /** How long before a due time the incumbent may claim it. Undefined: as long as the settings say. */
  readonly lookAheadMs: Millis | undefined;
  /** As in `Situation`. */
  readonly handedOver?: EpochMs | undefined;
}

/** The state that a decision depends on, besides the notes on its job. */
export interface DecideState {
  readonly coordinator: Coordinator;
  readonly required: RequiredWatch;
  readonly backfills: BackfillWatch;
}

/** The most readings for a back-fill before one decision. The next decision continues. */
const BACKFILL_READINGS = 20;

/**
 * Decides about one job from a listing. Reads the ledger only if a holder seems to have died, if a due time may wait
 * for required jobs, or if a back-fill must know what has run.
 *
 * @throws ForeignMetadataError if row or control are not ours
 */
export async function decideRow(
  state: DecideState,
  job: RunnableJob,
  notes: RowNotes & { readonly learned?: (version: RowVersion) => void },
  seen: JobListing,
): Promise<JobDecision> {
  const { coordinator, required, backfills } = state;
  const { clock, store, revision, serviceTime, settings } = coordinator;
  const { spec } = job;
  const { etag } = seen.row;
  const control = controlOf(seen.control);
  const row = decodeRow(seen.row.metadata);
  checkAhead(row, seen.listedAt);
  // The holder's jobs file may have another length than ours.
  const leaseMs = Math.max(spec.leaseMs, row.leaseMs ?? 0);
  let version = versionOf(notes.version, seen, clock);
  const learn = (news: Partial<RowVersion>): void => {
    version = { ...version, ...news };
    notes.learned?.(version);
  };
  learn({});
  const lease = leaseOf(coordinator, leaseMs, { version, unanswered: notes.unanswered }, seen.row);
  const lookAheadMs = isForeign(coordinator, row) ? undefined : notes.lookAheadMs;
  let beat = knownBeat(version, seen.listedAt);
  const decideWith = (record: Situation['record']): Decision => {
    const { ended, firstSeenAt } = version;
    return decide({
      job: spec,
      revision,
      row: ended === undefined ? row : withRecordedEnd(row, ended, spec),
      lease,
      control,
      listedAt: seen.listedAt,
      firstSeenAt,
      now: serviceTime.now(),
      record,
      beat,
      lookAheadMs: lookAheadMs ?? settings.lookAheadMs,
      sweepIntervalMs: settings.sweepIntervalMs,
      attemptLimitMs: attemptLimitMs(coordinator, spec),
      itemsLimitMs: waitsLimitMs(job),
      handedOver: notes.handedOver,
      required: required.known(spec),
      backfillLedger: backfills.known(spec.name, { row, etag, control }),
    });
  };
  let known: Situation['record'] = version.ended === undefined ? 'unread' : 'final';
  let decision = decideWith(known);
  if (decision.kind === 'readBeat') {
    // It decides even if its Date is behind that of the listing: nothing newer can be read now.
    beat = await readBeat(coordinator, job, row);
    learn({ beat });
    decision = decideWith(known);
  }
  if (decision.kind === 'readRecord') {
    const read = (signal: AbortSignal) => readUnlessForeign(store, spec.name, row.run?.key ?? '', signal);
    const found = await within(clock, CALL_LIMIT_MS, read);
    const record = found === 'foreign' ? undefined : found?.record;
    // An unreadable record counts as existing: it may have replaced the end of the run.
    known = found === 'foreign' ? 'unreadable' : stateOf(record, row);
    if (record?.state === 'final') learn({ ended: recordedEnd(record) });
    decision = decideWith(known);
  }
  // Each reading answers for one job at least, unless its row changes meanwhile.
  for (let left = spec.requires.length; decision.kind === 'readRequired' && left > 0; left -= 1) {
    await required.read(decision.jobs, decision.since, seen.listedAt);
    decision = decideWith(known);
  }
  for (let left = BACKFILL_READINGS; decision.kind === 'readBackfill' && left > 0; left -= 1) {
    await backfills.read(spec, { row, etag, control }, decision.due);
    decision = decideWith(known);
  }
  return { decision, row, etag, lease };
}

/** The facts of the listed version, with whether its lease is still broken. */
function versionOf(
  known: RowVersion | undefined,
  { row: { etag, lease }, listedAt }: JobListing,
  clock: Clock,
): RowVersion {
  const version = known?.etag === etag ? known : { etag, firstSeenAt: listedAt };
  return { ...version, brokenSince: lease === 'broken' ? (version.brokenSince ?? clock.monotonic()) : undefined };
}

/** How long the run may wait for its items or its orchestration; 0: it has neither. */
function waitsLimitMs({ spec, handler }: RunnableJob): Millis {
  if (isFanOut(handler)) return itemsDeadlineMs(spec, handler.policy) + ITEMS_MARGIN_MS;
  return isOrchestration(handler) ? itemsDeadlineMs(spec) + ITEMS_MARGIN_MS : 0;
}

/** How long an attempt may last. One that waits for its turn may last until the host's limit. */
export function attemptLimitMs(
  { settings, concurrencyLimit }: Coordinator,
  { timeoutMs = Infinity, graceMs, group }: JobSpec,
): Millis {
  // The timeout of an orchestration may be longer than that of the host, which ends every attempt.
  const handlerMs = timeoutMs === Infinity ? Infinity : Math.min(timeoutMs + graceMs, settings.functionTimeoutMs);
  return concurrencyLimit === undefined && group === undefined
    ? handlerMs
    : Math.max(handlerMs, settings.functionTimeoutMs);
}

/**
 * Undefined once this listing shows the items silent for too long, because a beat may have come after the last read.
 */
function knownBeat({ beat }: RowVersion, listedAt: EpochMs): LastBeat | undefined {
  if (beat === undefined) return undefined;
  return isSilent(beat) || listedAt < silentFrom(beat) ? beat : undefined;
}

async function readBeat({ clock, store }: Coordinator, job: RunnableJob, { run, token }: Row): Promise<LastBeat> {
  const ask: Ask = (call) => within(clock, CALL_LIMIT_MS, (signal) => call(store, signal));
  const beats = await listBeats(ask, { job: job.spec.name, key: run?.key ?? '', token });
  return newestBeat(beats, token, silentAfterMs(job.handler));
}

export function isForeign({ deployment }: Coordinator, { incumbent }: Row): boolean {
  return incumbent !== undefined && incumbent !== deployment;
}

function stateOf(record: LedgerRecord | undefined, { execution }: Row): Situation['record'] {
  if (record?.state !== 'open') return record?.state ?? 'none';
  return record.execution === execution ? 'marked' : 'open';
}

/** A broken lease counts as held until it has been seen broken for as long as the old holder may trust it. */
function leaseOf(
  { clock }: Coordinator,
  leaseMs: Millis,
  { version: { brokenSince }, unanswered }: Pick<RowNotes, 'unanswered'> & { readonly version: RowVersion },
  { lease, etag, isEnding = false }: ListedRow,
): Situation['lease'] {
  if (lease === 'leased') {
    // This may be our own acquisition, served late. A renewal under its id finds out.
    return unanswered?.etag === etag ? unanswered.lease : 'held';
  }
  if (brokenSince === undefined) return lease === 'expired' ? 'expired' : 'available';
  const seenFor = clock.monotonic() - brokenSince;
  return !isEnding && seenFor >= leaseMs + marginOf(leaseMs) ? 'expired' : 'held';
}
