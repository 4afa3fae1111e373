import type { EpochMs, JobName, LeaseId } from '../core/brand';
import type { Clock } from '../core/clock';
import type { ListedRow, RowStore } from '../lease/store';
import { type Remedies, type StoreNouns, type Trial, startTrying } from '../lease/trial';

const LEASE_MS = 15_000;

interface Tried {
  readonly rows: Pick<RowStore, 'createRow' | 'readRow' | 'acquire' | 'writeRow' | 'release'>;
  readonly clock: Clock;
  /** The first call: whether the container exists, and the server's time, which is `cutMs` behind on average. */
  readonly look: () => Promise<{ readonly isThere: boolean; readonly date: EpochMs; readonly cutMs: number }>;
  readonly deleteRow: (name: JobName) => Promise<unknown>;
  readonly nouns: StoreNouns;
  readonly remedies: Remedies;
}

/**
 * Tries each kind of call that coordination makes, on its own row, and removes that. Never rejects with a `StoreError`.
 */
export async function tryRows({ rows, clock, look, deleteRow, nouns, remedies }: Tried, id: string): Promise<Trial> {
  const name = `doctor-${id}` as JobName;
  const leaseId = id as LeaseId;
  const { attempt, failures, untried } = startTrying();
  let seen: Pick<Trial, 'container' | 'answeredInMs' | 'skewMs'> = {
    container: 'unknown',
    answeredInMs: undefined,
    skewMs: undefined,
  };
  await attempt('list', async () => {
    const started = clock.monotonic();
    const { isThere, date, cutMs } = await look();
    const answeredInMs = clock.monotonic() - started;
    const skewMs = Math.round(clock.now() - answeredInMs / 2 - (date + cutMs));
    seen = { container: isThere ? 'there' : 'missing', answeredInMs, skewMs };
  });
  let created = false;
  if (seen.container === 'there') {
    await attempt('read', () => rows.readRow(name));
    created = await attempt('create', () => rows.createRow(name, { trial: '1' }));
    let row: ListedRow | undefined;
    if (created) {
      await attempt('read', async () => {
        row = await rows.readRow(name);
      });
    }
    if (row !== undefined) {
      const ifMatch = row.etag;
      if (await attempt('lease', () => rows.acquire(name, { leaseId, leaseMs: LEASE_MS, ifMatch }))) {
        await attempt('write', () => rows.writeRow(name, { trial: '2' }, { leaseId, ifMatch }));
        await attempt('release', () => rows.release(name, leaseId));
      }
    }
    if (created) await attempt('delete', () => deleteRow(name));
  }
  return {
    ...seen,
    nouns,
    remedies,
    failures,
    untried: untried(),
    versioned: undefined,
    left: created && failures.has('delete') ? name : undefined,
  };
}
