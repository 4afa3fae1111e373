import type { EpochMs, ETag, JobName, LeaseId } from '../core/brand';
import type { Clock } from '../core/clock';
import { StoreError } from '../lease/store';
import { TRIAL_STEPS, type Trial, type TrialStep } from '../lease/trial';
import { STORE_LIMITS } from './limits';
import type { Question, Rows } from './port';

export interface Tried {
  readonly clock: Clock;
  /** Whether the container exists, and the service's time, which is `cutMs` behind on average. */
  look(question: Question): Promise<{ readonly isThere: boolean; readonly date: EpochMs; readonly cutMs: number }>;
  readonly rows: Omit<Rows, 'break' | 'renew'>;
  remove(question: Question, name: JobName): Promise<unknown>;
  /** Of the row, which only trials use. */
  readonly name: string;
  /** Of its lease. */
  readonly id: string;
  /** Whether rights are those of the container. Otherwise, a row may be hidden once it exists. */
  readonly hasOneRight?: boolean;
}

/** Tries each kind of call that coordination makes, on its own row, and removes that. Never rejects with a `StoreError`. */
export async function tryRows({ clock, look, rows, remove, hasOneRight = false, ...named }: Tried) {
  const [job, leaseId] = [named.name as JobName, named.id as LeaseId];
  const failures = new Map<TrialStep, StoreError>();
  const tried = new Set<TrialStep>();
  /** Returns whether the step succeeded. */
  const attempt = async (step: TrialStep, run: () => Promise<unknown>): Promise<boolean> => {
    tried.add(step);
    try {
      await run();
      return true;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      failures.set(step, error);
      return false;
    }
  };
  const options = undefined;
  const leaseMs = STORE_LIMITS.leaseMs.least;
  let seen: Pick<Trial, 'container' | 'answeredInMs' | 'skewMs'> = {
    container: 'unknown',
    answeredInMs: undefined,
    skewMs: undefined,
  };
  await attempt('list', async () => {
    const started = clock.monotonic();
    const { isThere, date, cutMs } = await look({ what: 'look for the container', kind: 'listing', options });
    const answeredInMs = clock.monotonic() - started;
    const skewMs = Math.round(clock.now() - answeredInMs / 2 - (date + cutMs));
    seen = { container: isThere ? 'there' : 'missing', answeredInMs, skewMs };
  });
  const read = () => rows.read({ what: `read ${job}`, kind: 'read', job, options });
  const isDenied = hasOneRight && failures.get('list')?.code === 'StoreDenied';
  let ifMatch: ETag | undefined;
  if (seen.container === 'there' || isDenied) {
    // It does not exist yet. The answer that it does not proves the right to read.
    await attempt('read', read);
    await attempt('create', async () => {
      ifMatch = await rows.create({ what: `create ${job}`, kind: 'write', job, options }, { trial: '1' });
    });
  }
  if (ifMatch !== undefined) {
    const guard = { leaseId, ifMatch };
    const isRead = hasOneRight || (await attempt('read', read));
    const acquisition = { what: `acquire the lease of ${job}`, kind: 'acquire', job, options } as const;
    if (isRead && (await attempt('lease', () => rows.acquire(acquisition, { ...guard, leaseMs })))) {
      const write = { what: `write ${job}`, kind: 'metadata', job, options } as const;
      await attempt('write', () => rows.write(write, { trial: '2' }, guard));
      const release = { what: `release the lease of ${job}`, kind: 'release', job, options } as const;
      await attempt('release', () => rows.release(release, leaseId, undefined));
    }
    await attempt('delete', () => remove({ what: `delete ${job}`, kind: 'delete', options }, job));
  }
  return {
    ...seen,
    failures,
    untried: TRIAL_STEPS.filter((step) => !tried.has(step)),
    left: failures.has('delete') ? named.name : undefined,
  };
}
