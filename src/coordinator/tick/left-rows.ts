import type { ETag, JobName, LeaseId, Millis } from '../../core/brand';
import { settlesAt } from '../../core/decide/next-row';
import { ForeignMetadataError, ifReadable } from '../../core/metadata';
import { decodePresence, jobsHash } from '../../core/presence';
import { PRESENCE_EVERY_MS, presenceState } from '../../core/presence-state';
import { type Row, decodeRow, isAtRest } from '../../core/row';
import { acquire } from '../../lease/acquire';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import { type ListedRow, type Listing, type Presences, StoreError } from '../../lease/store';
import { Trust } from '../../lease/trust';
import type { Coordinator, Report } from '../coordinator';
import { writeAtRest } from '../held';

/** A deployment that has the job has written its presence by then. Its row may be younger than that. */
const LEFT_FOR_MS: Millis = 2 * PRESENCE_EVERY_MS;

/** After this long without a report, a deployment with an older file is gone. An outage may keep a report back. */
const GONE_MS: Millis = 5 * PRESENCE_EVERY_MS;

/** A row whose job is not in this deployment's file. */
interface LeftRow {
  readonly etag: ETag;
  readonly lease: ListedRow['lease'];
  /** Since when this process has seen it so, in one sweep after another. */
  readonly since: Millis;
  /** The row to mark. Undefined: it has a mark, is forgotten, has a run, or is not cronlease's. */
  readonly row: Row | undefined;
}

/**
 * Marks the rows of jobs that no deployment's file has any longer, so that due times from then on do not count as missed
 * once a file has the job again. One for each process. It makes no call unless there is such a row without a mark.
 */
export function leftRows(coordinator: Coordinator): (whole: Listing, report: Report) => Promise<void> | undefined {
  const { clock, presence: facts, store } = coordinator;
  let seen = new Map<JobName, LeftRow>();
  let sweptAt = -Infinity;
  let ownHash: string | undefined;

  return (whole, report) => {
    // Without presences, the files of others are not known.
    if (facts === undefined) return undefined;
    const now = clock.monotonic();
    // After an outage, others need time to report.
    const before = now - sweptAt > LEFT_FOR_MS + coordinator.settings.sweepIntervalMs ? NOTHING : seen;
    sweptAt = now;
    seen = new Map();
    for (const [name, { row }] of whole.jobs) {
      if (row === undefined || coordinator.jobs.has(name)) continue;
      const known = before.get(name);
      const { etag, lease } = row;
      const isSame = known?.etag === etag && known.lease === lease;
      seen.set(name, isSame ? known : { etag, lease, since: now, row: markable(row, coordinator.revision) });
    }
    const left = [...seen].flatMap(([name, { etag, since, row }]) =>
      row === undefined || now - since < LEFT_FOR_MS || dependsOnRecords(row, whole) ? [] : [{ name, etag, row }],
    );
    return left.length === 0 ? undefined : markAll(left, report);
  };

  async function markAll(left: readonly Marked[], report: Report): Promise<void> {
    try {
      const listed = await within(clock, CALL_LIMIT_MS, (signal) => store.listPresences({ signal }));
      ownHash ??= jobsHash([...coordinator.jobs.values()].map(({ spec }) => spec));
      if (mayHaveOthers(listed, ownHash, coordinator.revision)) return;
      // On an available row, what was owed is written.
      for (const one of left) {
        await mark({ ...one, row: { ...one.row, owed: [], telling: [], leftSince: listed.date } });
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      report.log('debug', 'rows of jobs that no file has could not be marked:', error);
    }
  }

  /** Another instance may be faster, or the row in use again: then nothing is written. */
  async function mark({ name, etag, row }: Marked): Promise<void> {
    const leaseMs = store.limits.leaseMs.least;
    const trust = Trust.unrenewed(clock, leaseMs);
    const remaining = (): Millis => trust.remaining();
    const lease = { leaseId: coordinator.newId() as LeaseId, leaseMs, etag };
    if ((await acquire(coordinator, name, lease, remaining)) === undefined) return;
    await writeAtRest(coordinator, name, lease, row, remaining);
  }
}

const NOTHING: ReadonlyMap<JobName, LeftRow> = new Map();

interface Marked {
  readonly name: JobName;
  readonly etag: ETag;
  readonly row: Row;
}

function markable({ metadata, lease }: ListedRow, revision: number): Row | undefined {
  const row = lease === 'available' ? ifReadable(() => decodeRow(metadata)) : undefined;
  // A newer file had the job.
  if (row === undefined || row.revision > revision) return undefined;
  const isLeft = row.leftSince === undefined && row.forgotten === undefined && isAtRest(row, lease);
  return isLeft ? row : undefined;
}

/** Whether an acquisition that fails would do harm, because retention deletes the records that settle the row. */
function dependsOnRecords(row: Row, { date }: Listing): boolean {
  const settleAt = settlesAt({ lease: 'available', row, job: { keepMs: Infinity } });
  return settleAt !== undefined && settleAt <= date;
}

/**
 * Whether a deployment may have a job that this one's file lacks. One that is gone does not count if its file is older:
 * the job was removed since. All others must have the same file.
 */
function mayHaveOthers({ presences, date }: Presences, ownHash: string, revision: number): boolean {
  return [...presences.values()].some(({ metadata }) => {
    try {
      const other = decodePresence(metadata);
      const isGone = presenceState(other, date) === 'silent' && date - other.tickedAt >= GONE_MS;
      return other.jobs !== ownHash && (other.revision >= revision || !isGone);
    } catch (error) {
      // Another program wrote it in the place of a deployment's.
      if (error instanceof ForeignMetadataError) return true;
      throw error;
    }
  });
}
