import type { JobName } from '../core/brand';
import { isObject } from '../core/metadata';
import {
  type AuditStore,
  type CallOptions,
  type LeaseStore,
  type ListedControl,
  type ListedJob,
  type Listing,
  type MissingAccount,
  type Presences,
  StoreError,
  type Strays,
} from './store';

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
export async function askAll<Answer>(
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
export function mergedListing(
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
export function mergedPresences(answers: readonly Answered<Presences>[]): Presences {
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
export async function mergedAudits(
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
