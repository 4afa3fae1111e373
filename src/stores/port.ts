import type { EpochMs, ETag, JobName } from '../core/brand';
import type { CallKind } from '../core/storage-call';
import type { JobRowStore, LeaseBreaking, RowStore } from '../lease/port/rows';
import type { CallOptions, Metadata, Strays } from '../lease/store';

type OfTheStore = 'location' | 'limits' | 'prepare';

/** The calls for rows, of jobs or elections. */
export type RowCalls = Omit<RowStore, OfTheStore> & Required<LeaseBreaking>;

/** The calls for the rows of jobs, which are listed with their controls. */
export type JobRowCalls = Omit<JobRowStore & LeaseBreaking, OfTheStore>;

/** A call that changes a row, or its lease. */
export interface RowChange {
  readonly what: string;
  readonly kind: 'metadata' | 'acquire' | 'renew' | 'release' | 'break';
  readonly job: JobName;
  readonly options: CallOptions | undefined;
}

/** What a listing shows of an entry. */
export interface Head {
  readonly etag: ETag;
  /** When it was last written. */
  readonly writtenMs: EpochMs;
  readonly metadata: Metadata;
}

export type Condition = 'absent' | 'there' | 'any' | { readonly version: ETag };

export interface Question<Keys> {
  /** The operation and its object, for messages. */
  readonly what: string;
  readonly kind: CallKind;
  /** Where the entries of one kind, or of one job, lie. */
  readonly keys: Keys;
  readonly options: CallOptions | undefined;
}

/**
 * Calls for entries of one kind or another, in a store that keeps all of them alike: what the facets beside rows and
 * logs are made of.
 */
export interface Entries<Keys> {
  /**
   * Undefined: the condition did not hold. Without a body, the body stays. Only a call of kind `metadata` leaves out the
   * body of an entry that may have one.
   */
  put(
    question: Question<Keys> & {
      readonly id: string;
      readonly condition: Condition;
      readonly metadata: Metadata;
      readonly body?: string;
    },
  ): Promise<ETag | undefined>;
  /** `body` is undefined if it is larger than any that cronlease writes, or if there is none. */
  get(
    question: Question<Keys> & { readonly id: string },
  ): Promise<{ readonly now: EpochMs; readonly head: Head | undefined; readonly body: string | undefined }>;
  /** `now`: what was written before it is in the page. */
  page(question: Question<Keys> & PageOf): Promise<{
    readonly now: EpochMs;
    readonly items: readonly (Head & { readonly id: string })[];
    readonly continuation: string | undefined;
  }>;
  /** `strays`: what cronlease did not write, in a store that others can write by hand. */
  all(question: Question<Keys>): Promise<{
    readonly now: EpochMs;
    readonly found: ReadonlyMap<string, Head>;
    readonly strays?: Strays;
  }>;
  /** Whether it was there, with that version if one is given. */
  remove(question: Question<Keys> & { readonly id: string; readonly ifMatch?: ETag }): Promise<boolean>;
}

export interface PageOf {
  readonly prefix?: string | undefined;
  readonly limit: number;
  /** That of the page before. */
  readonly continuation?: string | undefined;
}

/** The keys of entries, by the facet that they belong to. */
export interface FacetKeys<Keys> {
  readonly controls: Keys;
  readonly requests: Keys;
  readonly presences: Keys;
  readonly notices: Keys;
  readonly audits: Keys;
  readonly groups: Keys;
  readonly records: (job: JobName) => Keys;
  readonly pieces: (job: JobName) => Keys;
}

/**
 * The keys of a store that names those of every facet alike.
 *
 * @param of with a job: of those that each job has for itself
 */
export function facetKeys<Keys>(of: (kind: keyof FacetKeys<Keys>, job?: JobName) => Keys): FacetKeys<Keys> {
  return {
    controls: of('controls'),
    requests: of('requests'),
    presences: of('presences'),
    notices: of('notices'),
    audits: of('audits'),
    groups: of('groups'),
    records: (job) => of('records', job),
    pieces: (job) => of('pieces', job),
  };
}

/** The condition of a write with the version that the writer has seen. */
export function ifSeen(ifMatch: ETag | undefined): Condition {
  return ifMatch === undefined ? 'absent' : { version: ifMatch };
}

/** The version of a store's own, in quotes. */
export function etagOf(version: string): ETag {
  return `"${version}"` as ETag;
}

/** Without the quotes. Another text fits nothing. */
export function versionOf(etag: ETag): string {
  return etag.replaceAll('"', '');
}

/** Ids are printable ASCII, and sorted by bytes: this follows every id with the prefix. */
export function afterPrefix(prefix: string): string {
  return `${prefix}\u007f`;
}

/** A page of items, of which one more than `limit` was asked for. */
export function pageOf<T extends { readonly id: string }>(
  found: readonly T[],
  limit: number,
): { readonly items: readonly T[]; readonly continuation: string | undefined } {
  const items = found.slice(0, limit);
  return { items, continuation: found.length > limit ? items.at(-1)?.id : undefined };
}

/**
 * What the head of an entry has in a store that has no metadata and times itself: the writer's estimate of the store's.
 */
export interface HeadData {
  readonly at: EpochMs;
  readonly metadata: Metadata;
}

/** @throws Error if the head is not one of ours: a fault of the adapter, or of someone who writes its keys */
export function headOf(key: string, value: string, version: string): Head {
  const { at, metadata } = JSON.parse(value) as Partial<HeadData>;
  if (at === undefined || metadata === undefined) throw new Error(`the key ${key} of cronlease has foreign content`);
  return { etag: etagOf(version), writtenMs: at, metadata };
}

/** The port's `date`: cut to whole seconds. */
export function dateOf(ms: EpochMs): EpochMs {
  return Math.floor(ms / 1000) * 1000;
}

/** In bytes of a log. */
export interface TextRange {
  readonly from: number;
  readonly limit: number;
}

/** Which texts of a log hold a range of it, and how it is cut from those. */
export function textsWithin(texts: readonly (readonly [name: string, bytes: number])[], { from, limit }: TextRange) {
  let start = 0;
  const wanted: { readonly name: string; readonly start: number }[] = [];
  for (const [name, bytes] of texts) {
    if (start < from + limit && start + bytes > from) wanted.push({ name, start });
    start += bytes;
  }
  const skipped = from - (wanted[0]?.start ?? from);
  return { names: wanted.map(({ name }) => name), cut: (text: string) => text.slice(skipped, skipped + limit) };
}
