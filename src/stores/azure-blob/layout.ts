import type { ETag, JobName } from '../../core/brand';

/** Where things lie in the coordination container. */
export const JOBS_PREFIX = 'jobs/';

type JobPart = 'lease' | 'control';

export function jobPrefix(job: JobName): string {
  return `${JOBS_PREFIX}${job}/`;
}

export function partName(job: JobName, part: JobPart): string {
  return `${jobPrefix(job)}${part}`;
}

/** Whose part a blob is; undefined: not ours. */
export function parsePartName(blobName: string): { readonly job: JobName; readonly part: JobPart } | undefined {
  const [, job, part] = /^jobs\/([a-z0-9-]{1,63})\/(lease|control)$/.exec(blobName) ?? [];
  if (job === undefined || (part !== 'lease' && part !== 'control')) return undefined;
  return { job: job as JobName, part };
}

/** The row of an election: in a folder of its own, so that it is no job's. */
export function electionRow(name: JobName): string {
  return `${ELECTIONS_PREFIX}${name}/lease`;
}

export const ELECTIONS_PREFIX = 'elections/';

/** Which election's row a blob is; undefined: none. */
export function parseElectionRow(blobName: string): JobName | undefined {
  return /^elections\/([a-z0-9-]{1,63})\/lease$/.exec(blobName)?.[1] as JobName | undefined;
}

/** What deployments say of themselves. */
export const PRESENCE_PREFIX = 'deployments/';

/** A deployment's name may have any printable characters: those that a path or the service would change are escaped. */
export function presenceName(deployment: string): string {
  return PRESENCE_PREFIX + encodeURIComponent(deployment).replaceAll('.', '%2E');
}

/** Which deployment's presence a blob is; undefined: none. */
export function parsePresenceName(blobName: string): string | undefined {
  try {
    const deployment = decodeURIComponent(blobName.slice(PRESENCE_PREFIX.length));
    return presenceName(deployment) === blobName ? deployment : undefined;
  } catch {
    // No text has this name: `%zz` encodes nothing.
    return undefined;
  }
}

/** Where an operator's look tries out what it may do. */
export function trialName(id: string): string {
  return `doctor/${id}`;
}

export function recordPrefix(job: JobName): string {
  return `runs/${job}/`;
}

/** What a fan-out run leaves for its instances lies apart from the ledger, since it is deleted with the run's end. */
export function piecePrefix(job: JobName, key?: string): string {
  return `fanout/${job}/${key === undefined ? '' : `${key}/`}`;
}

/** Answers quote ETags, listings do not, and `If-Match` wants them quoted. */
export function quoted(etag: string): ETag {
  return (etag.startsWith('"') ? etag : `"${etag}"`) as ETag;
}
