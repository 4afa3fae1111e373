import type { EpochMs, JobName } from '../../core/brand';
import { FLEET } from '../../core/fleet';
import { given } from '../../core/given';
import { LAYOUT } from '../../core/layout';
import type { LeaseBreaking, ListedControl, ListedJob, ListedRow, Listing, RowStore } from '../../lease/store';
import { checkMetadata, leaseSeconds } from '../limits';
import { type Rows, dateOf } from '../port';

/** The calls for rows, of jobs or elections. */
type RowCalls = Omit<RowStore, 'location' | 'limits' | 'prepare'>;

export function rowsIn(rows: Omit<Rows, 'break'>): RowCalls {
  return {
    async createRow(job, metadata, options) {
      checkMetadata(metadata);
      const question = { what: `create the row of ${job}`, kind: 'write', job, options } as const;
      return (await rows.create(question, metadata)) === undefined ? 'exists' : 'created';
    },
    readRow: (job, options) => rows.read({ what: `read the row of ${job}`, kind: 'read', job, options }),
    async acquire(job, { leaseMs, ...guard }, options) {
      const question = { what: `acquire the lease of ${job}`, kind: 'acquire', job, options } as const;
      const date = await rows.acquire(question, { ...guard, leaseMs: leaseSeconds(leaseMs) * 1000 });
      return date === undefined ? { kind: 'lost' } : { kind: 'acquired', date };
    },
    async renew(job, leaseId, options) {
      const question = { what: `renew the lease of ${job}`, kind: 'renew', job, options } as const;
      return (await rows.renew(question, leaseId)) ? 'renewed' : 'lost';
    },
    async writeRow(job, metadata, guard, options) {
      checkMetadata(metadata);
      const question = { what: `write the row of ${job}`, kind: 'metadata', job, options } as const;
      const written = await rows.write(question, metadata, guard);
      return written === undefined ? { kind: 'refused' } : { kind: 'written', ...written };
    },
    async release(job, leaseId, options) {
      const question = { what: `release the lease of ${job}`, kind: 'release', job, options } as const;
      return (await rows.release(question, leaseId, options?.ifMatch)) ? 'released' : 'lost';
    },
  };
}

export function breakingIn(rows: Pick<Rows, 'break'>): Required<LeaseBreaking> {
  return {
    async breakLease(job, ifMatch, options) {
      const leftMs = await rows.break({ what: `break the lease of ${job}`, kind: 'break', job, options }, ifMatch);
      // As a service that answers in whole seconds.
      return leftMs === undefined ? { kind: 'lost' } : { kind: 'broken', leftMs: Math.round(leftMs / 1000) * 1000 };
    },
  };
}

/** Rows, and the entries of controls, as of one instant. */
export interface ListedRows {
  readonly date: EpochMs;
  readonly rows: ReadonlyMap<string, ListedRow>;
  /** The listing shows nothing else of them than a control needs. */
  readonly controls: ReadonlyMap<string, ListedControl>;
}

/** The listing of one job shows neither the fleet nor the layout. */
export function listingOf(listed: ListedRows, only: JobName | undefined): Listing {
  const date = dateOf(listed.date);
  const { rows } = listed;
  const controls = new Map([...listed.controls].map(([name, { etag, metadata }]) => [name, { etag, metadata }]));
  const jobs = new Map<JobName, ListedJob>();
  for (const name of new Set([...rows.keys(), ...controls.keys()] as JobName[])) {
    if (name === FLEET || name === LAYOUT) continue;
    jobs.set(name, { ...given({ row: rows.get(name), control: controls.get(name) }), date });
  }
  if (only !== undefined) return { date, jobs };
  return { date, jobs, ...given({ fleet: controls.get(FLEET), layout: controls.get(LAYOUT) }) };
}
