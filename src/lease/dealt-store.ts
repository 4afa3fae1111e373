import { decodeAudit } from '../core/audit';
import type { JobName } from '../core/brand';
import { FLEET } from '../core/fleet';
import { shardOf } from '../core/layout';
import { isObject, sameMetadata } from '../core/metadata';
import {
  type AuditStore,
  type CallOptions,
  type ControlStore,
  JOB_METHODS,
  type LeaseStore,
  type ListedControl,
  type ListedJob,
  type Listing,
  type ListOptions,
  type Metadata,
  type MissingAccount,
  type Presences,
  StoreError,
  type Strays,
} from './store';

/**
 * The stores of several accounts as operators see them: a job's calls go to its account, and listings show the jobs of
 * all. An account that does not answer is named in the listing, and the others are shown.
 *
 * Coordinators do not use it: each has the store of one account, so that an outage of another one is none of its
 * business.
 */
export function dealtStore(stores: readonly LeaseStore[]): LeaseStore {
  const [first] = stores;
  if (first === undefined) throw new Error('there is no store to deal jobs to');
  if (stores.length === 1) return first;
  const accounts = stores.map(({ location }) => location);
  const home = (name: string): LeaseStore => stores[shardOf(name, accounts)] ?? first;
  return {
    ...first,
    location: accounts.join(' and '),
    home,
    accounts: stores,
    async prepare(options) {
      await Promise.all(stores.map((store) => store.prepare(options)));
    },
    ...perJob(first, home),
    ...controlsOf(stores, first, home),
    async list(options) {
      if (options?.job !== undefined) return home(options.job).list(options);
      const { answers, missing } = await askAll(stores, (store) => store.list(signalIn(options)));
      const layouts = stores.map((store) => {
        const listing = answers.find((one) => one.store === store);
        return {
          location: store.location,
          layout: listing === undefined ? ('missing' as const) : listing.answer.layout,
        };
      });
      const merged = mergedListing(answers, (job, listing) => listing.store === home(job));
      return { ...merged, accounts: layouts, ...missing };
    },
    async listPresences(options) {
      const { answers, missing } = await askAll(stores, (store) => store.listPresences(options));
      return { ...mergedPresences(answers), ...missing };
    },
    // An entry lies with the job that it is about, so that another account's outage prevents no change.
    writeAudit: (key, metadata, ...rest) => home(decodeAudit(metadata).target).writeAudit(key, metadata, ...rest),
    listAudits: (request, options) => mergedAudits(stores, request, options),
  };
}

type AnyMethod = (job: JobName, ...rest: readonly unknown[]) => Promise<unknown>;

/** Each of the first store's calls for a job, made in the store of the job. */
function perJob(first: LeaseStore, home: (job: string) => LeaseStore): Partial<LeaseStore> {
  const names = JOB_METHODS.filter((name) => first[name] !== undefined);
  const calls = names.map((name): [string, AnyMethod] => [
    name,
    (job, ...rest) => (home(job)[name] as AnyMethod)(job, ...rest),
  ]);
  return Object.fromEntries(calls);
}

/** The control of the fleet lies in each account, because each tick reads that of its account. The first one's decides. */
function controlsOf(stores: readonly LeaseStore[], first: LeaseStore, home: (job: string) => LeaseStore): ControlStore {
  const of = (job: JobName): LeaseStore => (job === FLEET ? first : home(job));
  const overwriteOthers = async (metadata: Metadata, options: CallOptions | undefined): Promise<void> => {
    for (const other of stores.slice(1)) await overwrite(other, metadata, options);
  };
  return {
    readControl: (job, ...rest) => of(job).readControl(job, ...rest),
    async writeControl(job, metadata, ifMatch, options) {
      if (job !== FLEET) return home(job).writeControl(job, metadata, ifMatch, options);
      // The first one comes last: repeated after a failure, the command finds its change not made, and makes it.
      await overwriteOthers(metadata, options);
      const answer = await first.writeControl(job, metadata, ifMatch, options);
      // Of two changes at once, the one that the first account refuses may be the last in the others.
      for (let settled = false; !settled;) {
        const { control } = await first.readControl(FLEET, options);
        if (control === undefined) break;
        await overwriteOthers(control.metadata, options);
        settled = (await first.readControl(FLEET, options)).control?.etag === control.etag;
      }
      return answer;
    },
    removeControl: (job, ...rest) => of(job).removeControl(job, ...rest),
  };
}

async function overwrite(store: LeaseStore, metadata: Metadata, options: CallOptions | undefined): Promise<void> {
  for (;;) {
    const { control } = await store.readControl(FLEET, options);
    if (control !== undefined && sameMetadata(control.metadata, metadata)) return;
    if ((await store.writeControl(FLEET, metadata, control?.etag, options)) === 'written') return;
  }
}

/** Listings of several accounts are not read in parts. */
function signalIn(options: ListOptions | undefined): ListOptions {
  return options?.signal === undefined ? {} : { signal: options.signal };
}

const STRAYS_NAMED = 10;

/** The answer of one of several accounts. */
interface Answered<Answer> {
  readonly store: LeaseStore;
  readonly answer: Answer;
}

interface Answers<Answer> {
  readonly answers: readonly Answered<Answer>[];
  /** Empty, or the accounts that did not answer. */
  readonly missing: { readonly missing?: readonly MissingAccount[] };
}

/** Asks all accounts. Rejects with the error of the first one if none answers. */
async function askAll<Answer>(
  stores: readonly LeaseStore[],
  ask: (store: LeaseStore) => Promise<Answer>,
): Promise<Answers<Answer>> {
  const missing: MissingAccount[] = [];
  const errors: StoreError[] = [];
  const asked = stores.map(async (store): Promise<readonly Answered<Answer>[]> => {
    try {
      return [{ store, answer: await ask(store) }];
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      errors.push(error);
      missing.push({ location: store.location, reason: error.message });
      return [];
    }
  });
  const answers = (await Promise.all(asked)).flat();
  if (answers.length === 0 && errors[0] !== undefined) throw errors[0];
  return { answers, missing: missing.length === 0 ? {} : { missing } };
}

/**
 * One listing of several accounts. A job is shown from only its own account: after a change of the list, others still
 * have the rows that have moved.
 */
function mergedListing(
  answers: readonly Answered<Listing>[],
  isOwn: (job: JobName, listing: Answered<Listing>) => boolean,
): Listing {
  const jobs = new Map<JobName, ListedJob>();
  for (const one of answers) {
    for (const [name, job] of one.answer.jobs) if (isOwn(name, one)) jobs.set(name, job);
  }
  const fleet = answers.find(({ answer }) => answer.fleet !== undefined)?.answer.fleet;
  return {
    date: oldest(answers.map(({ answer }) => answer)),
    jobs,
    ...(fleet && { fleet }),
    ...straysOf(answers.map(({ answer }) => answer)),
  };
}

/** Of a deployment that reports in several accounts, the oldest report: it ticks as a whole only if it ticks in each. */
function mergedPresences(answers: readonly Answered<Presences>[]): Presences {
  const presences = new Map<string, ListedControl>();
  for (const { answer } of answers) {
    for (const [name, presence] of answer.presences) {
      const other = presences.get(name);
      if (other === undefined || tickedIn(presence) < tickedIn(other)) presences.set(name, presence);
    }
  }
  const all = answers.map(({ answer }) => answer);
  return { date: oldest(all), presences, ...straysOf(all) };
}

/** Times of this form are ordered as text. */
function tickedIn({ metadata }: ListedControl): string {
  return metadata['ticked'] ?? '';
}

function oldest(answers: readonly { readonly date: number }[]): number {
  return Math.min(...answers.map(({ date }) => date));
}

function straysOf(answers: readonly { readonly strays?: Strays }[]): { readonly strays?: Strays } {
  const all = answers.flatMap(({ strays }) => strays ?? []);
  if (all.length === 0) return {};
  return {
    strays: {
      count: all.reduce((sum, { count }) => sum + count, 0),
      names: all.flatMap(({ names }) => names).slice(0, STRAYS_NAMED),
      harmful: all.flatMap(({ harmful }) => harmful).slice(0, STRAYS_NAMED),
    },
  };
}

/** How far the entries of all accounts have been shown. */
interface Place {
  /** The page of each account from which its next entries come. Undefined: the first one; null: there are no more. */
  readonly pages: readonly { readonly page?: string | null }[];
  /** The last entry that was shown: a first page begins with newer ones when it is listed again. */
  readonly after: string;
}

/** A continuation that no page has given. */
export class ContinuationError extends Error {
  readonly code = 'BadCursor';
  override readonly name = 'ContinuationError';

  constructor(options?: ErrorOptions) {
    super('the place where the page is to begin is none that an earlier page has given: begin without one', options);
  }
}

const NOWHERE: Place = { pages: [], after: '' };

/** A caller may have made it up. */
function placeIn(continuation: string): Place {
  let value: unknown;
  try {
    value = JSON.parse(continuation);
  } catch (cause) {
    throw new ContinuationError({ cause });
  }
  if (isPlace(value)) return value;
  throw new ContinuationError();
}

function isPlace(value: unknown): value is Place {
  if (!isObject(value) || typeof value['after'] !== 'string' || !Array.isArray(value['pages'])) return false;
  return value['pages'].every((one: unknown) => {
    if (!isObject(one)) return false;
    const { page } = one;
    return page === undefined || page === null || typeof page === 'string';
  });
}

/**
 * One page of the entries of all accounts, in order of key.
 *
 * @throws ContinuationError
 */
async function mergedAudits(
  stores: readonly LeaseStore[],
  { limit, continuation }: Parameters<AuditStore['listAudits']>[0],
  options: CallOptions | undefined,
): ReturnType<AuditStore['listAudits']> {
  const { pages: places, after } = continuation === undefined ? NOWHERE : placeIn(continuation);
  const pages = await Promise.all(
    stores.map(async (store, index) => {
      const { page } = places[index] ?? {};
      if (page === null) return { page, listed: [], next: undefined };
      const request = page === undefined ? { limit } : { limit, continuation: page };
      const { audits: listed, continuation: next } = await store.listAudits(request, options);
      return { page, listed, next };
    }),
  );
  // Beyond the end of a page that has a successor, it is not known which account has the next entry.
  const known = pages.flatMap(({ listed, next }) => (next === undefined ? [] : [listed.at(-1)?.key ?? '']));
  const upTo = known.reduce((least, key) => (key < least ? key : least), '~');
  const audits = pages
    .flatMap(({ listed }) => listed)
    .filter(({ key }) => key > after && key <= upTo)
    .sort((one, other) => (one.key < other.key ? -1 : 1))
    .slice(0, limit);
  const last = audits.at(-1)?.key ?? after;
  const left = pages.map(({ page, listed, next }) => {
    const isShown = (listed.at(-1)?.key ?? '') <= last;
    return isShown ? { page: next ?? null } : { ...(page !== undefined && { page }) };
  });
  const isOver = left.every(({ page }) => page === null);
  return { audits, continuation: isOver ? undefined : JSON.stringify({ pages: left, after: last } satisfies Place) };
}
