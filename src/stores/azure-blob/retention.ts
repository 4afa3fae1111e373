import type { ContainerClient } from '@azure/storage-blob';
import type { EpochMs, JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { inParallel } from '../../core/in-parallel';
import { invertedTime } from '../../core/key';
import type { CallOptions, Keep, Retention } from '../../lease/store';
import { type Ask, NO } from './ask';
import { FOLDERS, quoted } from './layout';
import { type AskPage, RangesRefusedError } from './listing';
import type { ListedBlob } from './listing-xml';

const DAY_MS: Millis = 86_400_000;
/** One folder a day. Never `jobs/`: a job whose row was deleted starts again. */
const PURGED = (['records', 'logs', 'requests', 'audits', 'notices'] as const).map((facet) => FOLDERS[facet]);
/** At most so many blobs are deleted in one sweep: for a few seconds. */
const PAGE = 1_000;

/** The answers where a blob is kept by its lease, a snapshot or a policy. A lifecycle rule leaves such a blob, too. */
const KEPT = ['LeaseIdMissing', 'SnapshotsPresent', 'BlobImmutableDueToPolicy', 'BlobImmutableDueToLegalHold'];

/** Where the next page of a folder begins. */
interface PageStart {
  readonly folder: string;
  readonly start?: string;
  readonly continuation?: string;
}

/**
 * What the lifecycle rule of the templates does, for an account without one. Every day one page of one folder is
 * listed; only a folder that has more is read on, page by page, and what is young of a job is skipped. Decision 134.
 */
export function retentionIn(container: ContainerClient, ask: Ask, askPage: AskPage, clock: Clock): Retention {
  let place: PageStart | undefined;
  let skips = true;

  async function nextPage(folder: string, options: CallOptions | undefined): ReturnType<AskPage> {
    const { start, continuation } = place ?? {};
    try {
      return await askPage('list old records', { prefix: folder, limit: PAGE, start, continuation }, options);
    } catch (error) {
      if (!(error instanceof RangesRefusedError)) throw error;
      skips = false;
      return askPage('list old records', { prefix: folder, limit: PAGE }, options);
    }
  }

  async function remove(blobs: readonly ListedBlob[], options: CallOptions | undefined): Promise<void> {
    await inParallel(blobs, ({ name, etag }) =>
      ask({ what: `delete ${name}`, no: [...NO.replace, ...KEPT], options }, (abortSignal) =>
        container.getBlobClient(name).delete({ conditions: { ifMatch: quoted(etag) }, abortSignal }),
      ),
    );
  }

  return {
    purgesDaily: true,
    async purge(keep, options) {
      if (keep.jobs.size === 0) return 'done';
      const folder = PURGED[Math.floor(clock.now() / DAY_MS) % PURGED.length] ?? FOLDERS.records;
      if (place?.folder !== folder) place = undefined;
      const { blobs, continuation, date } = await nextPage(folder, options);
      const old = blobs.filter((blob) => isOld(blob, keep, date));
      await remove(old, options);
      const last = blobs.at(-1)?.name;
      const start = last === undefined || !skips ? undefined : afterYoung(last, keep, date);
      if (continuation === undefined) place = undefined;
      else place = start === undefined ? { folder, continuation } : { folder, start };
      return place === undefined ? 'done' : 'more';
    },
  };
}

function isOld({ name, lastModified }: ListedBlob, keep: Keep, now: EpochMs): boolean {
  const keepMs = keepOf(name, keep);
  return keepMs !== undefined && Date.parse(lastModified) < now - keepMs;
}

/** @returns undefined for a job that is in another deployment's file, perhaps with a longer time */
function keepOf(name: string, keep: Keep): Millis | undefined {
  const job = jobIn(name);
  return job === undefined ? keep.longestMs : keep.jobs.get(job);
}

/** The job of a record or a log. */
function jobIn(name: string): JobName | undefined {
  return /^(?:runs|logs)\/([^/]+)\//.exec(name)?.[1] as JobName | undefined;
}

/** Where the old blobs of this one's job begin, or the next job; undefined: right after it. Keys count down in time. */
function afterYoung(name: string, keep: Keep, now: EpochMs): string | undefined {
  const job = jobIn(name);
  if (job === undefined) return undefined;
  const folder = name.slice(0, name.indexOf('/') + 1);
  const keepMs = keep.jobs.get(job);
  // The character after "/".
  if (keepMs === undefined) return `${folder}${job}0`;
  const start = `${folder}${job}/${invertedTime(now - keepMs)}`;
  return start > name ? start : undefined;
}
