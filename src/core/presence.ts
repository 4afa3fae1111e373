import { hash } from 'node:crypto';
import type { EpochMs, Millis } from './brand';
import type { JobSpec } from './job';
import { ForeignMetadataError, isoOrUndefined, MetadataReader, writeMetadata } from './metadata';

/** How often a deployment says that it is there, at most. */
export const PRESENCE_EVERY_MS = 5 * 60_000;

/** What a deployment says of itself: the metadata of `deployments/<deployment>`. Nothing is decided by it. */
export interface Presence {
  /** The process that wrote it. */
  readonly instance: string;
  /** The task hub and whose storage account it is in. */
  readonly hub: string | undefined;
  /** Of cronlease. */
  readonly version: string;
  /** Of the jobs file. */
  readonly revision: number;
  /** {@link jobsHash} of the jobs file. */
  readonly jobs: string;
  /** The tick that wrote it, by the service's time. */
  readonly tickedAt: EpochMs;
  /** How far its machine's clock is ahead of the service's; below 2 s it is 0. */
  readonly skewMs: Millis;
  /** Another process that spoke for the same deployment while this one was ticking. */
  readonly rival: Rival | undefined;
}

export interface Rival {
  readonly instance: string;
  readonly hub: string | undefined;
}

export function encodePresence(presence: Presence): Readonly<Record<string, string>> {
  return writeMetadata({
    format: 1,
    instance: presence.instance,
    hub: presence.hub,
    version: presence.version,
    revision: presence.revision,
    jobs: presence.jobs,
    ticked: isoOrUndefined(presence.tickedAt),
    skew: presence.skewMs,
    rival: presence.rival?.instance,
    rivalhub: presence.rival?.hub,
  });
}

/** Throws {@link ForeignMetadataError} when the metadata is not a presence. */
export function decodePresence(metadata: Readonly<Record<string, string>>): Presence {
  const read = new MetadataReader(metadata);
  read.oneOf('format', ['1']);
  const rival = read.optionalText('rival');
  const skew = read.text('skew');
  if (!/^-?\d{1,15}$/.test(skew)) throw new ForeignMetadataError('skew', skew, 'milliseconds');
  return {
    instance: read.text('instance'),
    hub: read.optionalText('hub'),
    version: read.text('version'),
    revision: read.whole('revision'),
    jobs: read.text('jobs'),
    tickedAt: read.instant('ticked'),
    skewMs: Number(skew),
    rival: rival === undefined ? undefined : { instance: rival, hub: read.optionalText('rivalhub') },
  };
}

/** Equal for files whose jobs have the same settings, defaults filled in; revisions apart. */
export function jobsHash(jobs: readonly JobSpec[]): string {
  const sorted = [...jobs].sort((a, b) => (a.name < b.name ? -1 : 1));
  return hash('sha256', JSON.stringify(sorted)).slice(0, 16);
}
