import type { EpochMs, JobName } from './brand';
import type { Pause } from './control';
import { isInstant, MetadataReader, writeMetadata } from './metadata';

/**
 * What concerns all jobs lies among their controls, under this name, so that each sweep reads it without a call. It
 * sorts before the names of jobs, so that it is on the first page. No job may have it. Decision 023.
 */
export const FLEET = '-fleet' as JobName;

/** Keeps a deployment from claiming anything new. What it runs continues to its end. */
export interface Cordon {
  readonly deployment: string;
  readonly by: string;
  readonly note: string;
  readonly since: EpochMs;
}

/** A notice to all who look: jobs are paused on purpose. The pauses themselves lie in the controls of the jobs. */
export interface Maintenance extends Pause {
  /** Which jobs it paused, as the operator chose them: `all jobs`, `tag billing`, `report-*`. */
  readonly jobs: string;
}

/** What operators asked of all deployments: the metadata of `jobs/-fleet/control`. */
export interface Fleet {
  readonly cordons: readonly Cordon[];
  readonly maintenance: readonly Maintenance[];
}

export const NO_FLEET: Fleet = { cordons: [], maintenance: [] };

export function encodeFleet({ cordons, maintenance }: Fleet): Readonly<Record<string, string>> {
  return writeMetadata({ cordons, maintenance });
}

/** Throws `ForeignMetadataError` when the metadata is not the fleet's. */
export function decodeFleet(metadata: Readonly<Record<string, string>>): Fleet {
  const read = new MetadataReader(metadata);
  return {
    cordons: read.list('cordons', ({ deployment, by, note, since }) =>
      isText(deployment) && isText(by) && isText(note) && isInstant(since)
        ? { deployment, by, note, since }
        : undefined,
    ),
    maintenance: read.list('maintenance', ({ by, note, since, until, jobs }) =>
      isText(by) && isText(note) && isText(jobs) && isInstant(since) && (until === undefined || isInstant(until))
        ? { by, note, since, until, jobs }
        : undefined,
    ),
  };
}

export function cordonOf({ cordons }: Fleet, deployment: string): Cordon | undefined {
  return cordons.find((cordon) => cordon.deployment === deployment);
}

/** The maintenance that has not ended. */
export function maintenanceAt({ maintenance }: Fleet, now: EpochMs): readonly Maintenance[] {
  return maintenance.filter(({ until = Infinity }) => now < until);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
