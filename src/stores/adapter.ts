import type { JobName, Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { CallOutcome } from '../core/storage-call';
import type { CallOptions, ElectionStore, LeaseBreaking, LeaseStore, Retention } from '../lease/store';
import type { Durability, Remedies, StoreNouns, Trial } from '../lease/trial';
import type { NamedServer } from './exposure';
import { facetsIn, logsIn } from './facets/facets';
import { type ListedRows, breakingIn, listingOf, rowsIn } from './facets/rows';
import { STORE_LIMITS } from './limits';
import type { Entries, FacetKeys, Logs, Question, Rows } from './port';
import { type Tried, tryRows } from './trial';

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
