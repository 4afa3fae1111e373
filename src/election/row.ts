import type { EpochMs, Millis, Token } from '../core/brand';
import { MetadataReader, writeMetadata } from '../core/metadata';
import type { Metadata } from '../lease/store';

/** An election's row: the metadata of `elections/<name>/lease`, which only the lease holder writes. */
export interface ElectionRow {
  readonly token: Token;
  /** The leader of the last term; undefined before the first term. */
  readonly leader: string | undefined;
  /** The service's Date of the acquisition at the start of the last term. */
  readonly since: EpochMs | undefined;
  /** The id of the last term. A candidate whose answer was lost recognises its own write by it. */
  readonly term: string | undefined;
  /** The length of the last leader's lease, for candidates with another length. */
  readonly leaseMs: Millis | undefined;
}

export function newElectionRow(token: Token): ElectionRow {
  return { token, leader: undefined, since: undefined, term: undefined, leaseMs: undefined };
}

export function encodeElectionRow({ token, leader, since, term, leaseMs }: ElectionRow): Metadata {
  return writeMetadata({
    token,
    leader,
    since: since === undefined ? undefined : new Date(since).toISOString(),
    term,
    lease: leaseMs,
  });
}

/** @throws ForeignMetadataError if something else has written the row */
export function decodeElectionRow(metadata: Metadata): ElectionRow {
  const read = new MetadataReader(metadata);
  return {
    token: read.whole('token') as Token,
    leader: read.optionalText('leader'),
    since: read.optionalInstant('since'),
    term: read.optionalText('term'),
    leaseMs: metadata['lease'] === undefined ? undefined : read.whole('lease'),
  };
}
