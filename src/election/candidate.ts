import type { Millis } from '../core/brand';
import { sleep } from '../core/clock';
import { ForeignMetadataError } from '../core/metadata';
import { backOff } from '../lease/deadline';
import { StoreError } from '../lease/store';
import { type Scout, type World, createScout } from './campaign';
import type { Leader, TermEnd } from './leadership';
import type { ElectionSettings } from './options';
import type { Term } from './term';

/** The first pause after storage did not answer. Later pauses are longer, up to the poll interval. */
const ASK_AGAIN_MS = 1_000;

export type ElectionEvent =
  | { readonly kind: 'elected'; readonly leader: Leader }
  | { readonly kind: 'lost'; readonly leader: Leader; readonly reason: TermEnd }
  | { readonly kind: 'observed'; readonly leader: Leader | undefined }
  | { readonly kind: 'error'; readonly error: unknown };

/** One instance's state in an election, both as a follower and as a leader. */
export interface Candidate {
  readonly settings: ElectionSettings;
  readonly world: World;
  readonly scout: Scout;
  readonly sightings: Sightings;
  readonly trouble: TroubleReport;
  readonly stopping: AbortController;
  /** The last term, which may be over. */
  term: Term | undefined;
  tell(event: ElectionEvent): void;
}

/** Reports each trouble once, and makes pauses longer until it is over. */
export interface TroubleReport {
  wait(error: StoreError | ForeignMetadataError): Millis;
  over(): void;
}

export function createCandidate(
  settings: ElectionSettings,
  world: World,
  tell: (event: ElectionEvent) => void,
): Candidate {
  return {
    settings,
    world,
    scout: createScout(settings, world),
    sightings: createSightings((leader) => tell({ kind: 'observed', leader })),
    trouble: troubleReport(settings, world, tell),
    stopping: new AbortController(),
    term: undefined,
    tell,
  };
}

/** How long a follower waits before its next read. The jitter spreads instances that started together. */
export function pollWait({ settings: { pollMs }, world: { random } }: Candidate): Millis {
  return pollMs * (0.8 + 0.4 * random());
}

/**
 * The pause after an error of storage, or after a row that is not an election's.
 *
 * @throws any other error
 */
export function pauseAfter({ trouble }: Candidate, error: unknown): Millis {
  if (!(error instanceof StoreError) && !(error instanceof ForeignMetadataError)) throw error;
  return trouble.wait(error);
}

/** Settles with undefined as soon as the election is stopped, even if storage does not answer. */
export async function orStopped<T>(
  { world: { clock }, stopping }: Candidate,
  work: Promise<T>,
): Promise<T | undefined> {
  const finished = new AbortController();
  const stopped = sleep(clock, Infinity, AbortSignal.any([stopping.signal, finished.signal])).then(() => undefined);
  try {
    return await Promise.race([work, stopped]);
  } finally {
    finished.abort();
  }
}

function troubleReport(
  { pollMs }: ElectionSettings,
  { random }: World,
  tell: (event: ElectionEvent) => void,
): TroubleReport {
  const newBackOff = (): ReturnType<typeof backOff> => backOff(random, ASK_AGAIN_MS, Math.max(ASK_AGAIN_MS, pollMs));
  let again = newBackOff();
  let reported: string | undefined;
  return {
    wait(error) {
      if (reported !== error.code) tell({ kind: 'error', error });
      reported = error.code;
      return again(error);
    },
    over() {
      again = newBackOff();
      reported = undefined;
    },
  };
}

/** The leader, as this instance last saw it. */
interface Sightings {
  /** Undefined before the first read. */
  readonly last: { readonly leader: Leader | undefined } | undefined;
  note(leader: Leader | undefined): void;
  /** Returns a signal that is aborted at the next change of the leader. */
  changed(): AbortSignal;
}

/** @param onChange called with the first sighting, and with each one that shows another leader or another term */
function createSightings(onChange: (leader: Leader | undefined) => void): Sightings {
  let last: Sightings['last'];
  let change = new AbortController();
  return {
    get last() {
      return last;
    },
    note(leader) {
      const before = last;
      last = { leader };
      if (before !== undefined && isSameTerm(before.leader, leader)) return;
      change.abort();
      change = new AbortController();
      onChange(leader);
    },
    changed: () => change.signal,
  };
}

export function isSameTerm(one: Leader | undefined, other: Leader | undefined): boolean {
  return one?.token === other?.token;
}
