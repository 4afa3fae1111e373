import type { EpochMs, Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { JobSpec } from '../core/job';
import type { Redact } from '../core/redact';
import { within } from '../lease/deadline';
import type { LeaseStore } from '../lease/store';
import type { AccessSettings } from './access';
import type { ShownEnvironment } from './environment';

/** The things that the routes work with: one desk for each process. */
export interface Desk {
  readonly store: LeaseStore;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly access: AccessSettings;
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

export type Sweeps = ReturnType<typeof createSweeps>;

/** A deployment reports once a minute, and is late soon after: an older list would show a dead one as live. */
const PRESENCES_MS: Millis = 20_000;

/**
 * The last sweep of this process: however many people look, it makes one listing of the jobs in a sweep interval, and
 * one of the deployments. Their `date` is the storage service's time now.
 */
export function createSweeps({ store, clock, sweepIntervalMs }: Desk) {
  const jobs = shared(clock, sweepIntervalMs, (signal) => store.list({ signal }));
  const presences = shared(clock, Math.min(sweepIntervalMs, PRESENCES_MS), (signal) => store.listPresences({ signal }));
  return {
    jobs: jobs.read,
    presences: presences.read,
    /** Forgets the jobs, after a change: its author must see it. */
    drop: jobs.drop,
  };
}

/** One answer for all who ask within `keepMs`. Its date moves on with the clock. */
function shared<Answer extends { readonly date: EpochMs }>(
  clock: Clock,
  keepMs: Millis,
  call: (signal: AbortSignal) => Promise<Answer>,
) {
  let kept: { readonly at: Millis; readonly answer: Promise<Answer> } | undefined;
  return {
    async read(): Promise<Answer> {
      const at = clock.monotonic();
      if (kept === undefined || at - kept.at >= keepMs) kept = { at, answer: within(clock, ANSWER_LIMIT_MS, call) };
      const mine = kept;
      try {
        const answer = await mine.answer;
        return { ...answer, date: answer.date + Math.round(clock.monotonic() - mine.at) };
      } catch (error) {
        // The next caller asks again.
        if (kept === mine) kept = undefined;
        throw error;
      }
    },
    drop(): void {
      kept = undefined;
    },
  };
}
