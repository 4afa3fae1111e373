import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { JobSpec } from '../core/job';
import { within } from '../lease/deadline';
import type { LeaseStore, Listing, Presences } from '../lease/store';
import type { AccessSettings } from './access';
import type { ShownEnvironment } from './environment';

/** The things that the routes work with: one desk for each process. */
export interface Desk {
  readonly store: LeaseStore;
  readonly clock: Clock;
  /** A new GUID. */
  readonly newId: () => string;
  readonly access: AccessSettings;
  /** The jobs of this app's file. */
  readonly jobs: readonly JobSpec[];
  readonly revision: number;
  readonly deployment: string;
  readonly version: string;
  /** The name of the environment, for people, and its colour. Undefined: it has none. */
  readonly environment: ShownEnvironment | undefined;
  /** The age that a listing may have. It is the shortest time between two polls that have news of each other, too. */
  readonly sweepIntervalMs: Millis;
  /** How many jobs have a name of their own in metrics. */
  readonly metricsJobs: number;
  /** Whether this instance can do its work: storage answers, and nothing else is wrong. */
  readonly isReady: () => Promise<boolean>;
}

/** The longest time that a request waits for storage. The platform gives up after 230 s. */
export const ANSWER_LIMIT_MS = 30_000;

/** The last sweep of this process, which all readers share. Its `date` is the storage service's time now. */
export interface Sweeps {
  jobs(): Promise<Listing>;
  presences(): Promise<Presences>;
  /** Forgets the jobs, after a change: its author must see it. */
  drop(): void;
}

interface Kept<Answer> {
  readonly at: Millis;
  readonly answer: Promise<Answer>;
}

/** Deployments report once in five minutes, so every fifth sweep is one of them. Their cordons lie with the jobs. */
const PRESENCES_EVERY = 5;

/**
 * However many people look, this process makes one listing in a sweep interval. When the deployments are due, the jobs
 * keep for one interval more.
 */
export function createSweeps({ store, clock, sweepIntervalMs }: Desk): Sweeps {
  const kept: { jobs?: Kept<Listing> | undefined; presences?: Kept<Presences> | undefined } = {};
  let askedAt: Millis = -Infinity;
  const ask = <Answer>(call: (signal: AbortSignal) => Promise<Answer>): Kept<Answer> => {
    askedAt = clock.monotonic();
    return { at: askedAt, answer: within(clock, ANSWER_LIMIT_MS, call) };
  };
  const sweepsSince = (at: Millis): number => (clock.monotonic() - at) / sweepIntervalMs;
  const presencesAreDue = (): boolean =>
    kept.presences !== undefined && sweepsSince(kept.presences.at) >= PRESENCES_EVERY;
  const jobsNow = (): Kept<Listing> => {
    const last = kept.jobs;
    const isTurnOfPresences = presencesAreDue() || sweepsSince(askedAt) < 1;
    const mayKeep = last !== undefined && sweepsSince(last.at) < (isTurnOfPresences ? 2 : 1);
    return mayKeep ? last : ask((signal) => store.list({ signal }));
  };
  const presencesNow = (): Kept<Presences> => {
    const last = kept.presences;
    const mayKeep = last !== undefined && !(presencesAreDue() && sweepsSince(askedAt) >= 1);
    return mayKeep ? last : ask((signal) => store.listPresences({ signal }));
  };
  return {
    async jobs() {
      const sweep = jobsNow();
      kept.jobs = sweep;
      try {
        const listing = await sweep.answer;
        return { ...listing, date: listing.date + Math.round(clock.monotonic() - sweep.at) };
      } catch (error) {
        // The next caller asks again.
        if (kept.jobs === sweep) kept.jobs = undefined;
        throw error;
      }
    },
    async presences() {
      const sweep = presencesNow();
      kept.presences = sweep;
      try {
        return await sweep.answer;
      } catch (error) {
        if (kept.presences === sweep) kept.presences = undefined;
        throw error;
      }
    },
    drop() {
      kept.jobs = undefined;
    },
  };
}
