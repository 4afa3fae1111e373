import type { EpochMs, JobName } from '../core/brand';
import type { JobSpec } from '../core/job';
import { type RequiredJob, type RequiredJobs, rememberedSuccess } from '../core/requires';
import { CALL_LIMIT_MS, within } from '../lease/deadline';
import type { ListedRow, Listing } from '../lease/store';
import type { Coordinator } from './coordinator';
import { newestSucceeded } from './ledger';

/** What this process knows of the jobs that others require. One for each process. */
export interface RequiredWatch {
  /**
   * Notes the rows of required jobs in a listing.
   *
   * @returns the jobs that require one whose row has changed
   */
  saw(listing: Listing): ReadonlySet<JobName>;
  /**
   * Notes that this process has claimed a job.
   *
   * @returns the jobs that require it
   */
  claimed(job: JobName): readonly JobName[];
  /** The knowledge for a decision on a job; undefined if it requires no other. */
  known(spec: JobSpec): RequiredJobs | undefined;
  /** The rows of its required jobs, as they were seen last, and how often this process has claimed one. */
  versions(spec: JobSpec): string;
  /**
   * Reads the ledgers for successes of these jobs that were due after `since`.
   *
   * @param listedAt the Date of a listing that has come
   * @throws StoreError
   */
  read(jobs: readonly JobName[], since: EpochMs, listedAt: EpochMs): Promise<void>;
}

/** One required job. */
interface Noted {
  /** ETag and lease of its row, as it was seen last. */
  version: string | undefined;
  /** The claims of this process. A listing that shows one may come later. */
  claims: number;
  isBusy: boolean;
  readVersion: string | undefined;
  succeeded: EpochMs | undefined;
  readTo: EpochMs;
  readAt: EpochMs;
}

export function requiredWatch({ jobs, clock, store }: Coordinator): RequiredWatch {
  const requiredBy = new Map<JobName, JobName[]>();
  for (const { spec } of jobs.values()) {
    for (const name of spec.requires) requiredBy.set(name, [...(requiredBy.get(name) ?? []), spec.name]);
  }
  const noted = new Map([...requiredBy.keys()].map((name) => [name, newNoted()]));
  const noteOf = (name: JobName): Noted => {
    const note = noted.get(name);
    if (note === undefined) throw new Error(`no job requires "${name}"`);
    return note;
  };

  return {
    saw({ jobs: listed }) {
      const changed = new Set<JobName>();
      for (const [name, note] of noted) {
        const row = listed.get(name)?.row;
        if (row === undefined) continue;
        const version = `${row.etag} ${row.lease}`;
        if (version === note.version) continue;
        note.version = version;
        note.isBusy = isBusy(row);
        note.succeeded = newer(note.succeeded, rememberedSuccess(row.metadata, row.lease));
        for (const requiring of requiredBy.get(name) ?? []) changed.add(requiring);
      }
      return changed;
    },
    claimed(job) {
      const note = noted.get(job);
      if (note !== undefined) note.claims += 1;
      return requiredBy.get(job) ?? [];
    },
    known({ requires }) {
      if (requires.length === 0) return undefined;
      return new Map(requires.map((name) => [name, knowledgeOf(noteOf(name))]));
    },
    versions({ requires }) {
      const notes = requires.map(noteOf);
      return notes.map(({ version, claims }) => `${version ?? ''} ${String(claims)}`).join();
    },
    async read(names, since, listedAt) {
      await Promise.all(
        names.map(async (name) => {
          const note = noteOf(name);
          // A change of the row during the reading may be the end of a run that the reading misses.
          const { version } = note;
          const found = await newestSucceeded(store, name, since, (call) => within(clock, CALL_LIMIT_MS, call));
          note.succeeded = newer(note.succeeded, found);
          note.readTo = version === note.readVersion ? Math.min(note.readTo, since) : since;
          note.readAt = Math.max(note.readAt, listedAt);
          note.readVersion = version;
        }),
      );
    },
  };
}

function newNoted(): Noted {
  return {
    version: undefined,
    claims: 0,
    isBusy: false,
    readVersion: undefined,
    succeeded: undefined,
    readTo: Infinity,
    readAt: -Infinity,
  };
}

function knowledgeOf({ version, readVersion, succeeded, readTo, readAt, isBusy: busy }: Noted): RequiredJob {
  return { succeeded, readTo, readAt, isStale: version !== readVersion, isBusy: busy };
}

function isBusy({ lease, metadata }: ListedRow): boolean {
  return lease !== 'available' || metadata['phase'] === 'fanning';
}

function newer(a: EpochMs | undefined, b: EpochMs | undefined): EpochMs | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.max(a, b);
}
