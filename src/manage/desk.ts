import type { EpochMs, Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { JobSpec } from '../core/job';
import type { Redact } from '../core/redact';
import { within } from '../lease/deadline';
import type { LeaseStore, Listing, Presences } from '../lease/store';
import type { AccessSettings } from './access';

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
  /** Hides secrets in inputs. Undefined: nothing is secret. */
  readonly redact: Redact | undefined;
  /** How many jobs have their own name in metrics. */
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

/** A deployment reports once a minute, and is late soon after: an older list would show a dead one as live. */
const PRESENCES_MS: Millis = 20_000;

/** However many people look, this process makes one listing of the jobs in a sweep interval, and one of the deployments. */
export function createSweeps({ store, clock, sweepIntervalMs }: Desk): Sweeps {
  const kept: { jobs?: Kept<Listing> | undefined; presences?: Kept<Presences> | undefined } = {};
  const ask = <Answer>(
    last: Kept<Answer> | undefined,
    keepMs: Millis,
    call: (signal: AbortSignal) => Promise<Answer>,
  ): Kept<Answer> => {
    const at = clock.monotonic();
    return last !== undefined && at - last.at < keepMs ? last : { at, answer: within(clock, ANSWER_LIMIT_MS, call) };
  };
  const dateNow = ({ at }: Kept<unknown>, date: EpochMs): EpochMs => date + Math.round(clock.monotonic() - at);
  return {
    async jobs() {
      const sweep = ask(kept.jobs, sweepIntervalMs, (signal) => store.list({ signal }));
      kept.jobs = sweep;
      try {
        const listing = await sweep.answer;
        return { ...listing, date: dateNow(sweep, listing.date) };
      } catch (error) {
        // The next caller asks again.
        if (kept.jobs === sweep) kept.jobs = undefined;
        throw error;
      }
    },
    async presences() {
      const sweep = ask(kept.presences, Math.min(sweepIntervalMs, PRESENCES_MS), (signal) =>
        store.listPresences({ signal }),
      );
      kept.presences = sweep;
      try {
        const listed = await sweep.answer;
        return { ...listed, date: dateNow(sweep, listed.date) };
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

/** The colours that an environment can have: each has white text on it. */
export const ENVIRONMENT_COLORS = ['red', 'orange', 'green', 'blue', 'purple', 'gray'] as const;

/** The environment of an app, for people: what they look at must be what they think they look at. */
export interface ShownEnvironment {
  readonly name: string;
  readonly color: (typeof ENVIRONMENT_COLORS)[number];
}
