import type { EpochMs, JobName } from './brand';
import { type Pause, PAUSE } from './control';
import { type RecordOf, decodeFields, encodeFields, isInstant, isText, listIn, membersOf } from './metadata';

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

const FLEET_FIELDS = {
  cordons: listIn('cordons', membersOf<Cordon>({ deployment: isText, by: isText, note: isText, since: isInstant })),
  maintenance: listIn('maintenance', membersOf<Maintenance>({ ...PAUSE, jobs: isText })),
};

/** What operators asked of all deployments: the metadata of `jobs/-fleet/control`. */
export interface Fleet extends RecordOf<typeof FLEET_FIELDS> {}

export const NO_FLEET: Fleet = { cordons: [], maintenance: [] };

export function encodeFleet(fleet: Fleet): Readonly<Record<string, string>> {
  return encodeFields<Fleet>(FLEET_FIELDS, fleet);
}

/** Throws `ForeignMetadataError` when the metadata is not the fleet's. */
export function decodeFleet(metadata: Readonly<Record<string, string>>): Fleet {
  return decodeFields<Fleet>(FLEET_FIELDS, metadata);
}

export function cordonOf({ cordons }: Fleet, deployment: string): Cordon | undefined {
  return cordons.find((cordon) => cordon.deployment === deployment);
}

/** The maintenance that has not ended. */
export function maintenanceAt({ maintenance }: Fleet, now: EpochMs): readonly Maintenance[] {
  return maintenance.filter(({ until = Infinity }) => now < until);
}
