import type { EpochMs, ETag, JobName, LeaseId, Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { CallOutcome } from '../core/storage-call';
import {
  type CallOptions,
  type ElectionStore,
  type LeaseBreaking,
  type LeaseStore,
  type Retention,
  StoreError,
} from '../lease/store';
import {
  type Durability,
  type Remedies,
  type StoreNouns,
  type Trial,
  TRIAL_STEPS,
  type TrialStep,
} from '../lease/trial';
import type { NamedServer } from './exposure';
import { facetsIn, logsIn } from './facets/facets';
import { breakingIn, type ListedRows, listingOf, rowsIn } from './facets/rows';
import { STORE_LIMITS } from './limits';
import type { Entries, FacetKeys, Logs, Question, Rows } from './port';

export interface AdapterOptions<Server extends NamedServer> {
  readonly server: Server;
  /** The name of the container: of a schema or a folder, or what all keys begin with. */
  readonly container: string;
  readonly clock: Clock;
  /** A call without an answer fails after this long. */
  readonly callTimeoutMs: Millis;
  /** Of an identity, for a store that takes one. */
  readonly token?: (() => Promise<string>) | undefined;
  /** Receives each call once it is over. */
  readonly onOutcome?: ((outcome: CallOutcome) => void) | undefined;
}

/** A container in a store beside blobs. */
export interface Adapter {
  readonly store: LeaseStore & LeaseBreaking & Retention;
  /** The rows of elections, beside those of jobs. */
  readonly elections: ElectionStore;
  /** Tries each kind of call on its own row among the elections, which no tick reads, and removes that. */
  trial(id: string): Promise<Trial>;
}

/** What an adapter brings. The questions are those of the calls that it makes. */
interface Parts<Keys> extends Pick<Tried, 'clock' | 'look'> {
  readonly location: string;
  prepare(question: Question): Promise<void>;
  readonly jobs: Rows;
  /** All rows and controls, or those of one job, as of one instant. */
  listJobs(question: Question, only: JobName | undefined): Promise<ListedRows>;
  readonly elections: Rows;
  listElections(question: Question): ReturnType<ElectionStore['listRows']>;
  readonly entries: Entries<Keys>;
  readonly logs: Logs<Keys>;
  readonly keys: FacetKeys<Keys>;
  readonly purge: Retention['purge'];
  /** Deletes the row of an election. */
  deleteRow(question: Question, name: JobName): Promise<unknown>;
  readonly nouns: StoreNouns;
  readonly remedies: Remedies;
  /** How the server's settings may lose rows. */
  readonly durability?: () => Promise<Durability>;
}

export function adapterOf<Keys>(parts: Parts<Keys>): Adapter {
  const { location, keys, durability } = parts;
  const common = {
    location,
    limits: STORE_LIMITS,
    prepare: (options?: CallOptions) => parts.prepare({ what: 'create the container', kind: 'container', options }),
  };
  const elections = {
    ...common,
    ...rowsIn(parts.elections),
    listRows: (options?: CallOptions) => parts.listElections({ what: 'list elections', kind: 'listing', options }),
  };
  return {
    store: {
      ...common,
      ...rowsIn(parts.jobs),
      ...breakingIn(parts.jobs),
      async list(options) {
        const only = options?.job;
        const listed = await parts.listJobs({ what: 'list jobs', kind: 'listing', options }, only);
        return listingOf(listed, only);
      },
      ...facetsIn(parts.entries, keys),
      ...logsIn(parts.logs, keys),
      purge: async (keep, options) => (keep.jobs.size === 0 ? 'done' : parts.purge(keep, options)),
    },
    elections,
    async trial(id) {
      const name = `doctor-${id}`;
      const trial = await tryRows({ ...parts, rows: parts.elections, remove: parts.deleteRow, name, id });
      const { nouns, remedies } = parts;
      const isKnown = trial.answeredInMs !== undefined && durability !== undefined;
      return { ...trial, nouns, remedies, versioned: undefined, ...(isKnown && { durability: await durability() }) };
    },
  };
}

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
    let isRead = hasOneRight;
    if (!isRead) {
      await attempt('read', async () => {
        isRead = (await read()) !== undefined;
      });
    }
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
