import type { ETag, JobName } from '../../core/brand';
import type { FacetKeys } from '../port';

/** The names of blobs in the coordination container. */
export const JOBS_PREFIX = 'jobs/';

type JobPart = 'lease' | 'control';

export function jobPrefix(job: JobName): string {
  return `${JOBS_PREFIX}${job}/`;
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

/** The row of an election. It has its own folder, so that it is not a job's. */
export function electionRow(name: JobName): string {
  return `${ELECTIONS_PREFIX}${name}/lease`;
}

export const ELECTIONS_PREFIX = 'elections/';

/** The election of a row; undefined if the blob is not an election's row. */
export function parseElectionRow(blobName: string): JobName | undefined {
  return /^elections\/([a-z0-9-]{1,63})\/lease$/.exec(blobName)?.[1] as JobName | undefined;
}

export const REQUESTS_PREFIX = 'requests/';
export const RUNS_PREFIX = 'runs/';
export const LOGS_PREFIX = 'logs/';

const PRESENCE_PREFIX = 'deployments/';

/** A deployment's name may have any printable characters. Those that a path or the service would change are escaped. */
function presenceName(deployment: string): string {
  return PRESENCE_PREFIX + encodeURIComponent(deployment).replaceAll('.', '%2E');
}

/** The deployment of a presence; undefined if the blob is not one. */
function parsePresenceName(blobName: string): string | undefined {
  try {
    const deployment = decodeURIComponent(blobName.slice(PRESENCE_PREFIX.length));
    return presenceName(deployment) === blobName ? deployment : undefined;
  } catch {
    // The name decodes to no text, such as `%zz`.
    return undefined;
  }
}

/** The blob of an operator's trial. */
export function trialName(id: string): string {
  return `doctor/${id}`;
}

/** The logs of a run. Like the ledger, they stay until a lifecycle rule or a tick deletes them. */
export function logPrefix(job: JobName, key: string): string {
  return `${LOGS_PREFIX}${job}/${key}/`;
}

/** Notices, until they are delivered and for a while after it. */
export const NOTICES_PREFIX = 'notices/';

/** What people changed. */
export const AUDIT_PREFIX = 'audit/';

/** Where the entries of one kind, or of one job, lie. */
export interface Folder {
  readonly prefix: string;
  nameOf(id: string): string;
  /** Undefined for a blob that cronlease did not write. */
  idOf(blobName: string): string | undefined;
}

function folder(prefix: string): Folder {
  return { prefix, nameOf: (id) => prefix + id, idOf: (blobName) => blobName.slice(prefix.length) };
}

export const FOLDERS: FacetKeys<Folder> = {
  // A control is beside its row, so that one listing shows both.
  controls: { ...folder(JOBS_PREFIX), nameOf: (job) => `${JOBS_PREFIX}${job}/control` },
  requests: folder(REQUESTS_PREFIX),
  presences: { prefix: PRESENCE_PREFIX, nameOf: presenceName, idOf: parsePresenceName },
  notices: folder(NOTICES_PREFIX),
  audits: folder(AUDIT_PREFIX),
  groups: folder('groups/'),
  records: (job) => folder(`${RUNS_PREFIX}${job}/`),
  // They are kept apart from the ledger, because they are deleted at the run's end.
  pieces: (job) => folder(`fanout/${job}/`),
};

/** Answers quote ETags, listings do not, and `If-Match` needs quotes. */
export function quoted(etag: string): ETag {
  return (etag.startsWith('"') ? etag : `"${etag}"`) as ETag;
}
