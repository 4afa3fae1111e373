import type { EpochMs, ETag, JobName, LeaseId, Millis } from '../core/brand';
import type { CallKind } from '../core/storage-call';
import type { CallOptions, Keep, ListedRow, Metadata, Strays } from '../lease/store';

/** One call, as it is reported. */
export interface Question {
  /** The operation and its object, for messages. */
  readonly what: string;
  readonly kind: CallKind;
  readonly options: CallOptions | undefined;
}

export interface RowQuestion extends Question {
  readonly job: JobName;
}

/** A row's version, and the lease under which it is written. */
export interface Guard {
  readonly leaseId: LeaseId;
  readonly ifMatch: ETag;
}

/** Calls for rows of one kind, each with its lease. Undefined, and false: a condition did not hold. */
export interface Rows {
  create(question: RowQuestion, metadata: Metadata): Promise<ETag | undefined>;
  read(question: RowQuestion): Promise<ListedRow | undefined>;
  /** `leaseMs` is in whole seconds. */
  acquire(question: RowQuestion, request: Guard & { readonly leaseMs: Millis }): Promise<EpochMs | undefined>;
  renew(question: RowQuestion, leaseId: LeaseId): Promise<boolean>;
  /** `leftMs` as in {@link ListedRow}. */
  write(
    question: RowQuestion,
    metadata: Metadata,
    guard: Guard,
  ): Promise<{ readonly etag: ETag; readonly date: EpochMs; readonly leftMs?: Millis } | undefined>;
  release(question: RowQuestion, leaseId: LeaseId, ifMatch: ETag | undefined): Promise<boolean>;
  /** How long the lease lasts after it. */
  break(question: RowQuestion, ifMatch: ETag): Promise<Millis | undefined>;
}

/** What a listing shows of an entry. */
export interface Head {
  readonly etag: ETag;
  /** When it was last written. */
  readonly writtenMs: EpochMs;
  readonly metadata: Metadata;
}

export type Condition = 'absent' | 'there' | 'any' | { readonly version: ETag };

export interface EntriesQuestion<Keys> extends Question {
  /** Where the entries of one kind, or of one job, lie. */
  readonly keys: Keys;
}

export interface EntryQuestion<Keys> extends EntriesQuestion<Keys> {
  readonly id: string;
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
    question: EntryQuestion<Keys> & {
      readonly condition: Condition;
      readonly metadata: Metadata;
      readonly body?: string;
    },
  ): Promise<ETag | undefined>;
  /** `body` is undefined if it is larger than any that cronlease writes, or if there is none. */
  get(
    question: EntryQuestion<Keys>,
  ): Promise<{ readonly now: EpochMs; readonly head: Head | undefined; readonly body: string | undefined }>;
  /** `now`: what was written before it is in the page. */
  page(
    question: EntriesQuestion<Keys> & PageOf,
  ): Promise<PageIn<Head & { readonly id: string }> & { readonly now: EpochMs }>;
  /** `strays`: what cronlease did not write, in a store that others can write by hand. */
  all(question: EntriesQuestion<Keys>): Promise<{
    readonly now: EpochMs;
    readonly found: ReadonlyMap<string, Head>;
    readonly strays?: Strays;
  }>;
  /** Whether it was there, with that version if one is given. */
  remove(question: EntryQuestion<Keys> & { readonly ifMatch?: ETag }): Promise<boolean>;
}

export interface PageOf {
  readonly prefix?: string | undefined;
  readonly limit: number;
  /** That of the page before. */
  readonly continuation?: string | undefined;
}

export interface PageIn<Item> {
  readonly items: readonly Item[];
  readonly continuation: string | undefined;
}

/** Calls for the logs of runs. False, and undefined: a condition did not hold. */
export interface Logs<Keys> {
  create(question: EntryQuestion<Keys>): Promise<boolean>;
  append(question: EntryQuestion<Keys> & { readonly text: string; readonly at: number }): Promise<boolean>;
  read(question: EntryQuestion<Keys> & TextRange): Promise<string | undefined>;
  page(
    question: EntriesQuestion<Keys> & PageOf & { readonly prefix: string },
  ): Promise<PageIn<{ readonly id: string; readonly bytes: number }>>;
}

/**
 * The version of the keys, or nodes, of a store. A later one must leave them usable for the release before it, because
 * the instances of both run side by side.
 */
export const LAYOUT_VERSION = '1';

/** The kinds of entries, and of logs. */
export const FACETS = [
  'controls',
  'requests',
  'presences',
  'notices',
  'audits',
  'groups',
  'records',
  'pieces',
  'logs',
] as const;
export type Facet = (typeof FACETS)[number];

/** The keys of one kind; with a job for `records`, `pieces` and `logs`, which each job has for itself. */
export type FacetKeys<Keys> = (facet: Facet, job?: JobName) => Keys;

/** What retention deletes: entries of one kind, or of one job, that are kept equally long. */
export interface Kept<Keys> {
  readonly facet: Facet;
  readonly keys: Keys;
  readonly keepMs: Millis;
}

export function keptIn<Keys>(keys: FacetKeys<Keys>, { jobs, longestMs }: Keep): readonly Kept<Keys>[] {
  const ofJobs = [...jobs].flatMap(([job, keepMs]) =>
    (['records', 'logs'] as const).map((facet) => ({ facet, keys: keys(facet, job), keepMs })),
  );
  const others = (['requests', 'audits', 'notices'] as const).map((facet) => ({
    facet,
    keys: keys(facet),
    keepMs: longestMs,
  }));
  return [...ofJobs, ...others];
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
export function pageOf<T extends { readonly id: string }>(found: readonly T[], limit: number): PageIn<T> {
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
