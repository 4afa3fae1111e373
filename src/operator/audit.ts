import type { EpochMs, ETag } from '../core/brand';
import { given } from '../core/given';
import { type Action, type AuditEntry, auditKey, decodeAudit, encodeAudit } from '../core/audit';
import { ForeignMetadataError, orForeign } from '../core/metadata';
import type { Origin } from '../core/origin';
import { type AuditStore, orStoreError, type PageRequest, StoreError } from '../lease/store';
import { OperatorError } from './operator-error';
import type { LeaseTaker } from './operations/take-lease';
import { shortId } from './operations/once';
import type { Changing } from './change-control';

/** Who makes a change, where, and why: the origin has the note. `version` is that of the job's control. */
export interface Acting extends LeaseTaker, Changing {
  readonly origin: Origin;
  /** Called for a change that took place, if storage did not take the end of its record. */
  readonly unrecorded?: (what: string) => void;
}

export interface Changed<Answer> {
  readonly answer: Answer;
  /** What was there before, as JSON. Undefined: nothing. */
  readonly before?: unknown;
  readonly after: unknown;
}

/** `recorded` is false if storage did not take the end of the record, which shows only that the change was begun. */
export type Recorded<Answer> = Answer & { readonly recorded: boolean };

/**
 * Makes a change and records it: first that it begins, then how it ended. A change whose beginning cannot be recorded is
 * not made. Decision 104.
 *
 * @param target the job or the deployment
 * @throws OperatorError `NotRecorded` if nothing was recorded and nothing changed; the error of the change
 */
export async function operate<Answer extends object>(
  acting: Acting,
  action: Action,
  target: string,
  change: () => Promise<Changed<Answer>>,
): Promise<Recorded<Answer>> {
  const { store, clock, origin } = acting;
  const intent = { at: clock.now(), origin, action, target };
  const key = auditKey(intent.at, shortId());
  const begun = await begin(store, key, intent);
  const end = async (entry: Pick<AuditEntry, 'state' | 'before' | 'after'>): Promise<boolean> => {
    const answer = await orStoreError(store.writeAudit(key, encodeAudit({ ...intent, ...entry }), begun));
    return !(answer instanceof StoreError) && answer.kind === 'written';
  };
  let changed: Changed<Answer>;
  try {
    changed = await change();
  } catch (error) {
    // After any other error, the outcome of the change is not known. Nor is it if others were faster: a change of
    // several steps may have made some of them.
    if (error instanceof OperatorError) {
      await end({ state: error.code === 'Contended' ? 'begun' : 'refused', after: error.message });
    }
    throw error;
  }
  const { answer, before, after } = changed;
  const recorded = await end({ state: 'done', before, after });
  if (!recorded) acting.unrecorded?.(`the ${action} of "${target}"`);
  return { ...answer, recorded };
}

async function begin(store: AuditStore, key: string, intent: Omit<AuditEntry, 'state'>): Promise<ETag> {
  const metadata = encodeAudit({ ...intent, state: 'begun' });
  const refuse = (why: string, cause?: StoreError): OperatorError =>
    new OperatorError(
      'NotRecorded',
      `nothing was changed, because the ${intent.action} of "${intent.target}" could not be recorded: ${why}`,
      { cause },
    );
  const answer = await orStoreError(store.writeAudit(key, metadata, undefined));
  if (answer instanceof StoreError) throw refuse(answer.message, answer);
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

/** The changes that are wanted. Left out: any. */
export interface WantedChanges {
  /** Words, each of which the actor, channel, action, target, state or note has. */
  readonly q?: string | undefined;
  readonly action?: string | undefined;
  readonly channel?: string | undefined;
  readonly since?: EpochMs | undefined;
}

/** One page of some changes. It may have more than `limit`, and it may be short, or empty, before the end. */
export async function searchAudit(
  store: AuditStore,
  { q = '', action, channel, since = 0 }: WantedChanges,
  { limit, continuation: start }: PageRequest,
): Promise<AuditPage> {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const isWanted = (entry: AuditEntry): boolean =>
    (action === undefined || entry.action === action) &&
    (channel === undefined || entry.origin.channel === channel) &&
    entry.at >= since &&
    words.every((word) => textOf(entry).includes(word));
  const found: AuditPage['entries'][number][] = [];
  const problems: string[] = [];
  let continuation = start;
  for (let listing = 0; listing < LISTINGS && found.length < limit; listing += 1) {
    const request = { limit: SEARCHED, ...given({ continuation }) };
    const page = await listAudit(store, request);
    found.push(...page.entries.filter(isWanted));
    problems.push(...page.problems);
    const isPast = (page.entries.at(-1)?.at ?? since) < since;
    continuation = isPast ? undefined : page.continuation;
    if (continuation === undefined) break;
  }
  return { entries: found, problems, continuation };
}

function textOf({ origin: { actor, channel, note = '' }, action, target, state }: AuditEntry): string {
  return [actor, channel, action, target, state, note].join(' ').toLowerCase();
}

/** One page of what people changed, by one call. */
export async function listAudit(store: AuditStore, request: PageRequest): Promise<AuditPage> {
  const { audits, continuation } = await store.listAudits(request);
  const problems: string[] = [];
  const entries = audits.flatMap(({ key, metadata }) => {
    const entry = orForeign(() => decodeAudit(metadata));
    if (!(entry instanceof ForeignMetadataError)) return [{ ...entry, id: key }];
    problems.push(`audit/${key}: ${entry.message}`);
    return [];
  });
  return { entries, problems, continuation };
}
