import { hash } from 'node:crypto';
import type { EpochMs, Millis } from './brand';
import type { JobSpec } from './job';
import { ForeignMetadataError, isoOrUndefined, MetadataReader, writeMetadata } from './metadata';
import { type Shortage, SHORTAGES } from './presence-state';

/**
 * A deployment's own report: the metadata of `deployments/<deployment>`. `doctor` reads it, and a sweep that sees the row of
 * a job which its own file lacks.
 */
export interface Presence {
  /** The process that wrote it. */
  readonly instance: string;
  /** The task hub and its storage account. */
  readonly hub: string | undefined;
  /** The version of cronlease. */
  readonly version: string;
  /** The revision of the jobs file. */
  readonly revision: number;
  /** {@link jobsHash} of the jobs file. */
  readonly jobs: string;
  /** When the tick wrote this, by the service's time. */
  readonly tickedAt: EpochMs;
  /** The longest time between two fires of its timer. */
  readonly tickEveryMs: Millis;
  /** Whether its task hub has shown that it runs orchestrations. */
  readonly hubProven: boolean;
  /** Over how many storage accounts it deals its jobs. Left out: it has one. */
  readonly accounts?: number;
  /** How far the machine's clock is ahead of the service's; 0 below 2 s. */
  readonly skewMs: Millis;
  /** What the process lacks, so that most of its handlers are called late. Left out: nothing. */
  readonly shortOf?: Shortage;
  /** Another process that reported for the same deployment while this one ticked. */
  readonly rival: Rival | undefined;
}

export interface Rival {
  readonly instance: string;
  readonly hub: string | undefined;
}

export function encodePresence(presence: Presence): Readonly<Record<string, string>> {
  return writeMetadata({
    instance: presence.instance,
    hub: presence.hub,
    version: presence.version,
    revision: presence.revision,
    jobs: presence.jobs,
    ticked: isoOrUndefined(presence.tickedAt),
    every: presence.tickEveryMs,
    skew: presence.skewMs,
    proven: String(presence.hubProven),
    accounts: presence.accounts,
    short: presence.shortOf,
    rival: presence.rival?.instance,
    rivalhub: presence.rival?.hub,
  });
}

/** Throws {@link ForeignMetadataError} when the metadata is not a presence. */
export function decodePresence(metadata: Readonly<Record<string, string>>): Presence {
  const read = new MetadataReader(metadata);
  const rival = read.optionalText('rival');
  const accounts = read.optionalWhole('accounts');
  const shortOf = metadata['short'] === undefined ? undefined : read.oneOf('short', SHORTAGES);
  const skew = read.text('skew');
  if (!/^-?\d{1,15}$/.test(skew)) throw new ForeignMetadataError('skew', skew, 'milliseconds');
  return {
    instance: read.text('instance'),
    hub: read.optionalText('hub'),
    version: read.text('version'),
    revision: read.whole('revision'),
    jobs: read.text('jobs'),
    tickedAt: read.instant('ticked'),
    tickEveryMs: read.whole('every'),
    skewMs: Number(skew),
    hubProven: read.oneOf('proven', ['true', 'false']) === 'true',
    ...(accounts !== undefined && { accounts }),
    ...(shortOf !== undefined && { shortOf }),
    rival: rival === undefined ? undefined : { instance: rival, hub: read.optionalText('rivalhub') },
  };
}

/**
 * A hash of all jobs with their defaults. Two files with the same settings have the same hash, even if their revisions
 * differ.
 */
export function jobsHash(jobs: readonly JobSpec[]): string {
  const sorted = [...jobs].sort((a, b) => (a.name < b.name ? -1 : 1));
  return hash('sha256', JSON.stringify(sorted)).slice(0, 16);
}
