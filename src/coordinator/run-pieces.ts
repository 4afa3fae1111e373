import { type Redact, redactJson } from '../core/redact';
import { redactError } from '../core/recorded-error';
import type { OrchestrationEnd } from '../core/orchestration';
import type { JobName, Millis, Token } from '../core/brand';
import { BEAT_EVERY_MS, type NotedItem, beatPiece, beatSummary, isSilent, newestBeat } from '../core/fan-out';
import type { Progress } from '../core/log-entry';
import type { Row } from '../core/row';
import { silentAfterMs } from '../handler/handlers';
import { CALL_LIMIT_MS, within } from '../lease/deadline';
import { allPieces } from '../lease/pages';
import { type ListedPiece, StoreError, StoreUnavailableError } from '../lease/store';
import { type Moment, elapsedSince, moment } from '../lease/trust';
import type { Coordinator } from './coordinator';
import type { HeldRow } from './held';
import type { ItemInput } from './message';
import { type Ask, asking } from './row-writer';

/** After this long without a beat, none of the run's items is in this process any more. */
const FORGET_AFTER_MS = 60_000;
const PIECES_PER_PAGE = 500;
const EMPTY = { body: '{}', summary: {} };

/** The run that items belong to, under one claim. */
type Fanning = Pick<ItemInput, 'job' | 'key' | 'token'>;

/** The heartbeat of this process for a run. */
export interface Beats extends Fanning {
  /** Its piece's name. A process that has forgotten a run begins another one. */
  readonly piece: string;
  /** When this entry was made, or its beat last written. */
  since: Moment;
  /** When the last beat that was written was sent. */
  at: Moment | undefined;
  writing: Promise<void> | undefined;
  /** The piece has been created, and not been found deleted since. */
  exists: boolean;
  /** The calls for items that are under way here, from before their first beat to their very end. */
  readonly items: Set<Promise<unknown>>;
  progress?: Progress | undefined;
  readonly noted: Map<number, NotedItem>;
}

type Beating = Pick<Coordinator, 'clock' | 'newId'>;

/** The heartbeats that this process writes, by run and token. */
const beatsOf = new WeakMap<object, Map<string, Beats>>();

/** Carries out a call for an item. Until it is over, this process counts as working on the run. */
export async function whileAtWork<T>(coordinator: Coordinator, run: Fanning, call: () => Promise<T>): Promise<T> {
  const { items } = entryOf(coordinator, run);
  const done = call();
  items.add(done);
  try {
    return await done;
  } finally {
    items.delete(done);
  }
}

/** Lists an item in the heartbeats of this process from the next one on; without `now`, no longer. */
export function noteItem(
  coordinator: Beating,
  { index, ...run }: Pick<ItemInput, 'job' | 'key' | 'token' | 'index'>,
  now?: Omit<NotedItem, 'index'>,
): void {
  const { noted } = entryOf(coordinator, run);
  // The newest come last.
  noted.delete(index);
  if (now !== undefined) noted.set(index, { index, ...now });
}

/** The next heartbeat shows how far the run's orchestration is. */
export function setProgress(coordinator: Beating, run: Fanning, progress: Progress | undefined): void {
  entryOf(coordinator, run).progress = progress;
}

/** The runs on whose items this process works, or has worked of late. */
export function runsAtWork(coordinator: Coordinator): readonly Beats[] {
  return [...(beatsOf.get(coordinator)?.values() ?? [])].filter(({ exists, items }) => exists || items.size > 0);
}

/**
 * Keeps the heartbeat of this process alive for all items of a run in it, with one write every 15 s. Decision 086.
 *
 * @returns when the last successful beat was sent, and whether it is the first one
 * @throws StoreError when no beat has succeeded so far
 */
export async function beat(
  coordinator: Coordinator,
  run: Fanning,
): Promise<{ readonly at: Moment; readonly isFirst: boolean }> {
  const beats = entryOf(coordinator, run);
  const { at: before } = beats;
  if (before === undefined || elapsedSince(coordinator.clock, before) >= BEAT_EVERY_MS) {
    beats.writing ??= write(coordinator, beats).finally(() => {
      beats.writing = undefined;
    });
    try {
      await beats.writing;
    } catch (error) {
      // The last successful beat counts until others may take the run over.
      if (beats.at === undefined || !(error instanceof StoreError)) throw error;
    }
  }
  if (beats.at === undefined) throw new StoreUnavailableError('the heartbeat of its items was ended');
  return { at: beats.at, isFirst: before === undefined };
}

async function write({ clock, store }: Coordinator, beats: Beats): Promise<void> {
  const { job, key, piece, noted, progress } = beats;
  const summary = beatSummary(noted.values(), progress);
  const sent = moment(clock);
  const answer = await within(clock, CALL_LIMIT_MS, async (signal) => {
    // An earlier creation may have taken effect without an answer, and is older than this beat.
    const created =
      beats.exists || (await store.createPiece(job as JobName, key, piece, { ...EMPTY, summary }, { signal }));
    beats.exists = true;
    return created === 'created' ? created : store.touchPiece(job as JobName, key, piece, summary, { signal });
  });
  if (answer === 'gone') {
    beats.exists = false;
    throw new StoreUnavailableError(`heartbeat ${piece} of run ${key} was deleted`);
  }
  beats.at = sent;
  beats.since = sent;
}

/** Whether a row waits for the items of this claim. */
export function isLeftToItems({ phase, itemsLeftAt, run, token }: Row, claim: Fanning): boolean {
  return phase === 'fanning' && itemsLeftAt === undefined && run?.key === claim.key && token === claim.token;
}

/** Ends the heartbeat of this process. Call it once no item of the run trusts here, or can trust again. */
export async function endBeats({ clock, store }: Coordinator, beats: Beats): Promise<void> {
  const { job, key, piece } = beats;
  await within(clock, CALL_LIMIT_MS, (signal) => store.deletePiece(job as JobName, key, piece, { signal }));
  beats.exists = false;
  beats.at = undefined;
}

/**
 * Ends it while the run goes on. A tick measures the silence from the piece that this leaves, if no one beats again.
 */
export async function leaveBeats(coordinator: Coordinator, beats: Beats): Promise<void> {
  const { clock, store } = coordinator;
  const { job, key, token } = beats;
  const left = beatPiece(token as Token);
  await within(clock, CALL_LIMIT_MS, (signal) => store.createPiece(job as JobName, key, left, EMPTY, { signal }));
  await endBeats(coordinator, beats);
}

export function entryOf(coordinator: Beating, { job, key, token }: Fanning): Beats {
  const all = beatsOf.get(coordinator) ?? new Map<string, Beats>();
  beatsOf.set(coordinator, all);
  const id = `${job} ${key} ${String(token)}`;
  const known = all.get(id);
  if (known !== undefined && !isForgotten(coordinator, known)) return known;
  for (const [run, one] of all) if (isForgotten(coordinator, one)) all.delete(run);
  const beats: Beats = {
    job,
    key,
    token,
    piece: beatPiece(token as Token, coordinator.newId()),
    since: moment(coordinator.clock),
    at: undefined,
    writing: undefined,
    exists: false,
    items: new Set(),
    noted: new Map(),
  };
  all.set(id, beats);
  return beats;
}

function isForgotten({ clock }: Beating, { since, writing, items }: Beats): boolean {
  return writing === undefined && items.size === 0 && elapsedSince(clock, since) > FORGET_AFTER_MS;
}

/** Creates the first heartbeat of a claim, before its items go to their lanes. It counts until they have begun. */
export async function beginBeats({ coordinator, job, key, row, ask }: HeldRow): Promise<void> {
  const beats = entryOf(coordinator, { job: job.spec.name, key, token: row.token });
  const sent = moment(coordinator.clock);
  await ask((store, signal) => store.createPiece(job.spec.name, key, beats.piece, EMPTY, { signal }));
  beats.exists = true;
  beats.at = sent;
  beats.since = sent;
}

/** The heartbeats of a claim, and pieces whose names begin alike. */
export function listBeats(ask: Ask, { job, key, token }: Fanning): Promise<readonly ListedPiece[]> {
  const request = { key, prefix: beatPiece(token as Token), limit: PIECES_PER_PAGE };
  return allPieces((next) =>
    ask((store, signal) => store.listPieces(job as JobName, { ...request, ...next }, { signal })),
  );
}

/**
 * Whether the items of the row's run have been silent for so long that another holder may continue it.
 *
 * Call it only under the lease. An item that finds the row held does not start to trust, so every item that trusts now
 * has sent its beat before.
 */
export async function itemsAreSilent(
  coordinator: Coordinator,
  job: JobName,
  { run, token }: Row,
  remaining: () => Millis,
): Promise<boolean> {
  const handler = coordinator.jobs.get(job)?.handler;
  if (run === undefined || handler === undefined) return false;
  const beats = await listBeats(asking(coordinator, remaining), { job, key: run.key, token });
  return isSilent(newestBeat(beats, token, silentAfterMs(handler)));
}

/** The prefix of the pieces in which a run keeps a text. Decision 130. */
export const KEPT = 'kept-';
/** The number of the piece with the end of a claim's orchestration: the claim itself writes only the one before. */
const END = 1;
/** More than its record holds, and less than any store takes: a result in Durable may have many megabytes. */
const RESULT_CHARACTERS = 64 * 1024;

/** The name of the piece with a text of a claim, from 0. */
export function keptPiece(token: number, index: number): string {
  return `${KEPT}${digits(token)}-${digits(index)}`;
}

/**
 * Keeps the end of the orchestration that a claim has started, without secrets. Of two ends the first one stands.
 *
 * @param place the claim
 * @throws StoreError
 */
export async function keepEndOf(
  { clock, store, redact }: Pick<Coordinator, 'clock' | 'store' | 'redact'>,
  { job, key, token }: { readonly job: JobName; readonly key: string; readonly token: number },
  end: OrchestrationEnd,
): Promise<void> {
  const piece = { body: JSON.stringify(shownEnd(end, redact)), summary: {} };
  await within(clock, CALL_LIMIT_MS, (signal) => store.createPiece(job, key, keptPiece(token, END), piece, { signal }));
}

/** Only the record shows an end, so no one misses what is hidden, or cut off. */
function shownEnd(end: OrchestrationEnd, redact: Redact | undefined): OrchestrationEnd {
  if (end.state === 'failed') return { state: end.state, error: redactError(end.error, redact) };
  const { state, result } = end;
  const shown = redact === undefined ? result : JSON.stringify(redactJson(JSON.parse(result), redact));
  return { state, result: shown.slice(0, RESULT_CHARACTERS) };
}

function digits(number: number): string {
  return String(number).padStart(16, '0');
}
