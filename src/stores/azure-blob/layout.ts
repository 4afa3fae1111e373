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

export function recordPrefix(job: JobName): string {
  return `runs/${job}/`;
}

/** Answers quote ETags, listings do not, and `If-Match` wants them quoted. */
export function quoted(etag: string): ETag {
  return (etag.startsWith('"') ? etag : `"${etag}"`) as ETag;
}
