import type { JobName, Millis, Token } from '../core/brand';
import { BEAT_EVERY_MS, beatPiece, isSilent } from '../core/fan-out';
import type { Row } from '../core/row';
import { CALL_LIMIT_MS, untilAnswered, within } from '../lease/deadline';
import { StoreError } from '../lease/store';
import type { Moment } from '../lease/trust';
import { elapsedSince, moment } from '../lease/trust';
import type { Coordinator } from './coordinator';
import type { HeldRow } from './held';
import type { ItemInput } from './message';

/** After this long without a beat, none of the run's items is in this process any more. */
const FORGET_AFTER_MS = 60_000;

/** The run that items belong to, under one claim. */
type Fanning = Pick<ItemInput, 'job' | 'key' | 'token'>;

interface Beats {
  /** When this entry was made, or its beat last written. */
  since: Moment;
  /** When the last beat that was written was sent. */
  at: Moment | undefined;
  writing: Promise<void> | undefined;
  /** An older version planned the run, which has no heartbeat: nobody takes it over before its deadline. */
  isNone: boolean;
}

/** The heartbeats that this process writes, by run and token. */
const beatsOf = new WeakMap<Coordinator, Map<string, Beats>>();

/**
 * Keeps the heartbeat of a run alive for all its items in this process, with one write every 15 s.
 *
 * @returns when the last successful beat was sent; undefined if the run has no heartbeat
 * @throws StoreError when no beat has succeeded so far
 */
export async function beat(coordinator: Coordinator, run: Fanning): Promise<Moment | undefined> {
  const beats = entryOf(coordinator, run);
  if (beats.at === undefined || elapsedSince(coordinator.clock, beats.at) >= BEAT_EVERY_MS) {
    beats.writing ??= write(coordinator, run, beats).finally(() => {
      beats.writing = undefined;
    });
    try {
      await beats.writing;
    } catch (error) {
      // The last successful beat counts until others may take the run over.
      if (beats.at === undefined || !(error instanceof StoreError)) throw error;
    }
  }
  return beats.at;
}

async function write(coordinator: Coordinator, { job, key, token }: Fanning, beats: Beats): Promise<void> {
  if (beats.isNone) return;
  const { clock, store } = coordinator;
  const sent = moment(clock);
  const answer = await within(clock, CALL_LIMIT_MS, (signal) =>
    store.touchPiece(job as JobName, key, beatPiece(token as Token), { signal }),
  );
  if (answer === 'gone') {
    beats.isNone = true;
    return;
  }
  beats.at = sent;
  beats.since = sent;
}

function entryOf(coordinator: Coordinator, { job, key, token }: Fanning): Beats {
  const all = beatsOf.get(coordinator) ?? new Map<string, Beats>();
  beatsOf.set(coordinator, all);
  const { clock } = coordinator;
  for (const [run, { since, writing }] of all) {
    if (writing === undefined && elapsedSince(clock, since) > FORGET_AFTER_MS) all.delete(run);
  }
  const id = `${job} ${key} ${String(token)}`;
  const beats = all.get(id) ?? { since: moment(clock), at: undefined, writing: undefined, isNone: false };
  all.set(id, beats);
  return beats;
}

/** Creates the heartbeat of a run before its items go to their lanes. Items beat only for a run that has one. */
export async function beginBeats({ job, key, row, ask }: HeldRow): Promise<void> {
  const piece = { body: '{}', summary: {} };
  await ask((store, signal) => store.createPiece(job.spec.name, key, beatPiece(row.token), piece, { signal }));
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
  if (run === undefined) return false;
  const last = await untilAnswered(coordinator, remaining, (signal) =>
    coordinator.store.pieceWritten(job, run.key, beatPiece(token), { signal }),
  );
  return last !== undefined && isSilent(last);
}
