import { type Action, type AuditEntry, auditKey, decodeAudit, encodeAudit } from '../core/audit';
import type { EpochMs } from '../core/brand';
import { ForeignMetadataError } from '../core/metadata';
import type { Origin } from '../core/origin';
import { type AuditStore, type CallOptions, StoreError } from '../lease/store';
import { OperatorError } from './operator-error';
import { shortId } from './request';

/** A change that a person is about to make. */
export interface Intent {
  readonly at: EpochMs;
  readonly origin: Origin;
  readonly action: Action;
  /** The job or the deployment. */
  readonly target: string;
}

/** What a change has done. */
export interface Changed<Result> {
  readonly result: Result;
  /** What was there before, as JSON. Undefined: nothing. */
  readonly before?: unknown;
  readonly after: unknown;
}

export interface Recorded<Result> {
  readonly result: Result;
  /** False: storage did not take the end of the record, which shows only that the change was begun. */
  readonly recorded: boolean;
}

/**
 * Makes a change and records it: first that it begins, then how it ended. A change whose beginning cannot be recorded is
 * not made.
 *
 * @throws OperatorError `NotRecorded` if nothing was recorded and nothing changed; the error of the change
 */
export async function recorded<Result>(
  store: AuditStore,
  intent: Intent,
  change: () => Promise<Changed<Result>>,
  options?: CallOptions,
): Promise<Recorded<Result>> {
  const key = auditKey(intent.at, shortId());
  const begun = await begin(store, key, intent, options);
  const end = async (entry: Pick<AuditEntry, 'state' | 'before' | 'after'>): Promise<boolean> => {
    try {
      return (await store.writeAudit(key, encodeAudit({ ...intent, ...entry }), begun, options)).kind === 'written';
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return false;
    }
  };
  let changed: Changed<Result>;
  try {
    changed = await change();
  } catch (error) {
    // After any other error, nobody knows what became of the change.
    if (error instanceof OperatorError) await end({ state: 'refused', after: error.message });
    throw error;
  }
  const { result, before, after } = changed;
  return { result, recorded: await end({ state: 'done', before, after }) };
}

async function begin(
  store: AuditStore,
  key: string,
  intent: Intent,
  options: CallOptions | undefined,
): Promise<Extract<Awaited<ReturnType<AuditStore['writeAudit']>>, { kind: 'written' }>['etag']> {
  const metadata = encodeAudit({ ...intent, state: 'begun' });
  const refuse = (why: string, cause?: StoreError): OperatorError =>
    new OperatorError(
      'NotRecorded',
      `nothing was changed, since the ${intent.action} of "${intent.target}" could not be recorded: ${why}`,
      { cause },
    );
  let answer: Awaited<ReturnType<AuditStore['writeAudit']>>;
  try {
    answer = await store.writeAudit(key, metadata, undefined, options);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw refuse(error.message, error);
  }
  if (answer.kind === 'refused') throw refuse(`there is an entry ${key} already, try again`);
  return answer.etag;
}

export interface AuditPage {
  /** Newest first. */
  readonly entries: readonly (AuditEntry & { readonly id: string })[];
  /** Entries that cronlease did not write, with reasons. */
  readonly problems: readonly string[];
  /** Where the next page begins; undefined: there is none. */
  readonly continuation: string | undefined;
}

/** So many changes one listing of a search looks at, and so many listings one page of it takes at most. */
const SEARCHED = 200;
const LISTINGS = 5;

/**
 * One page of the changes that have each word in their actor, channel, action, target, state or note. It ends with the
 * listing that has enough of them, so that it may have more than `limit`, and it may be short, or empty, before the end.
 */
export async function searchAudit(
  store: AuditStore,
  text: string,
  { limit, continuation: start }: { readonly limit: number; readonly continuation?: string },
  options?: CallOptions,
): Promise<AuditPage> {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found: AuditPage['entries'][number][] = [];
  const problems: string[] = [];
  let continuation = start;
  for (let listing = 0; listing < LISTINGS && found.length < limit; listing += 1) {
    const request = { limit: SEARCHED, ...(continuation === undefined ? {} : { continuation }) };
    const page = await listAudit(store, request, options);
    found.push(...page.entries.filter((entry) => words.every((word) => textOf(entry).includes(word))));
    problems.push(...page.problems);
    continuation = page.continuation;
    if (continuation === undefined) break;
  }
  return { entries: found, problems, continuation };
}

function textOf({ origin: { actor, channel, note = '' }, action, target, state }: AuditEntry): string {
  return [actor, channel, action, target, state, note].join(' ').toLowerCase();
}

/** One page of what people changed, by one call. */
export async function listAudit(
  store: AuditStore,
  request: { readonly limit: number; readonly continuation?: string },
  options?: CallOptions,
): Promise<AuditPage> {
  const { audits, continuation } = await store.listAudits(request, options);
  const problems: string[] = [];
  const entries = audits.flatMap(({ key, metadata }) => {
    try {
      return [{ ...decodeAudit(metadata), id: key }];
    } catch (error) {
      if (!(error instanceof ForeignMetadataError)) throw error;
      problems.push(`audit/${key}: ${error.message}`);
      return [];
    }
  });
  return { entries, problems, continuation };
}
