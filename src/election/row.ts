import type { EpochMs, Millis, Token } from '../core/brand';
import { ForeignMetadataError, MetadataReader, writeMetadata } from '../core/metadata';
import type { Metadata } from '../lease/store';

/** An election's row: the metadata of `elections/<name>/lease`, which only the lease holder writes. */
export interface ElectionRow {
  readonly token: Token;
  /** The leader of the last term; undefined: there was none yet. */
  readonly leader: string | undefined;
  /** The service's Date of the acquisition that the last term began with. */
  readonly since: EpochMs | undefined;
  /** Id of the last term: tells whose write it was when an answer is lost. */
  readonly term: string | undefined;
  /** Length of the last leader's lease: those who have another one must know. */
  readonly leaseMs: Millis | undefined;
}

const FORMAT = 1;

export function newElectionRow(token: Token): ElectionRow {
  return { token, leader: undefined, since: undefined, term: undefined, leaseMs: undefined };
}

export function encodeElectionRow({ token, leader, since, term, leaseMs }: ElectionRow): Metadata {
  return writeMetadata({
    format: FORMAT,
    token,
    leader,
    since: since === undefined ? undefined : new Date(since).toISOString(),
    term,
    lease: leaseMs,
  });
}

/** @throws ForeignMetadataError when somebody else has written there */
export function decodeElectionRow(metadata: Metadata): ElectionRow {
  const read = new MetadataReader(metadata);
  if (read.whole('format') !== FORMAT) throw new ForeignMetadataError('format', metadata['format'], String(FORMAT));
  return {
    token: read.whole('token') as Token,
    leader: read.optionalText('leader'),
    since: read.optionalInstant('since'),
    term: read.optionalText('term'),
    leaseMs: metadata['lease'] === undefined ? undefined : read.whole('lease'),
  };
}
