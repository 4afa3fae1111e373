import type { ETag, JobName } from '../../core/brand';
import type { Facet, FacetKeys } from '../port';

/** How the names of blobs in the coordination container begin. */
export const FOLDERS: Readonly<Record<Facet, string>> = {
  // A control is beside its row, so that one listing shows both.
  controls: 'jobs/',
  requests: 'requests/',
  presences: 'deployments/',
  notices: 'notices/',
  audits: 'audit/',
  groups: 'groups/',
  records: 'runs/',
  // They are kept apart from the ledger, because they are deleted at the run's end.
  pieces: 'fanout/',
  logs: 'logs/',
};

type JobPart = 'lease' | 'control';

export function jobPrefix(job: JobName): string {
  return `${FOLDERS.controls}${job}/`;
}

export function partName(job: JobName, part: JobPart): string {
  return `${jobPrefix(job)}${part}`;
}

/** The job and part of a blob; undefined if it is not ours. */
export function parsePartName(blobName: string): { readonly job: JobName; readonly part: JobPart } | undefined {
  const [, job, part] = /^jobs\/([a-z0-9-]{1,63})\/(lease|control)$/.exec(blobName) ?? [];
  if (job === undefined || (part !== 'lease' && part !== 'control')) return undefined;
  return { job: job as JobName, part };
}

export const ELECTIONS_PREFIX = 'elections/';

/** The row of an election. It has its own folder, so that it is not a job's. */
export function electionRow(name: JobName): string {
  return `${ELECTIONS_PREFIX}${name}/lease`;
}

/** The election of a row; undefined if the blob is not an election's row. */
export function parseElectionRow(blobName: string): JobName | undefined {
  return /^elections\/([a-z0-9-]{1,63})\/lease$/.exec(blobName)?.[1] as JobName | undefined;
}

/** A deployment's name may have any printable characters. Those that a path or the service would change are escaped. */
function presenceName(deployment: string): string {
  return FOLDERS.presences + encodeURIComponent(deployment).replaceAll('.', '%2E');
}

/** The deployment of a presence; undefined if the blob is not one. */
function parsePresenceName(blobName: string): string | undefined {
  try {
    const deployment = decodeURIComponent(blobName.slice(FOLDERS.presences.length));
    return presenceName(deployment) === blobName ? deployment : undefined;
  } catch {
    // The name decodes to no text, such as `%zz`.
    return undefined;
  }
}

/** Where the entries of one kind, or of one job, lie. */
export interface Folder {
  readonly prefix: string;
  nameOf(id: string): string;
  /** Undefined for a blob that cronlease did not write. */
  idOf(blobName: string): string | undefined;
}

export const foldersOf: FacetKeys<Folder> = (facet, job) => {
  const prefix = FOLDERS[facet] + (job === undefined ? '' : `${job}/`);
  return {
    prefix,
    nameOf: (id) => prefix + id,
    idOf: (blobName) => blobName.slice(prefix.length),
    ...(facet === 'controls' && { nameOf: (job) => partName(job as JobName, 'control') }),
    ...(facet === 'presences' && { nameOf: presenceName, idOf: parsePresenceName }),
  };
};

/** Answers quote ETags, listings do not, and `If-Match` needs quotes. */
export function quoted(etag: string): ETag {
  return (etag.startsWith('"') ? etag : `"${etag}"`) as ETag;
}
