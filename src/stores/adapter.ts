import type { Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { CallOutcome } from '../core/storage-call';
import type { ElectionStore, LeaseBreaking, LeaseStore, LogStore, Retention, RowStore } from '../lease/store';
import type { Durability, Trial } from '../lease/trial';
import type { NamedServer } from './exposure';
import { facetsIn } from './facets/facets';
import { STORE_LIMITS } from './limits';
import type { Entries, FacetKeys, JobRowCalls, RowCalls } from './port';
import { type Tried, tryRows } from './row-trial';

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
  /** Tries each kind of call on a row of its own among the elections, which no tick reads, and removes that. */
  trial(id: string): Promise<Trial>;
}

interface Parts<Keys> extends Omit<Tried, 'rows'> {
  readonly location: string;
  readonly prepare: RowStore['prepare'];
  readonly jobs: JobRowCalls;
  readonly entries: Entries<Keys>;
  readonly keys: FacetKeys<Keys>;
  readonly logs: LogStore;
  readonly retention: Retention;
  readonly elections: RowCalls;
  readonly listElections: ElectionStore['listRows'];
  /** How the server's settings may lose rows. */
  readonly durability?: () => Promise<Durability>;
}

export function adapterOf<Keys>(parts: Parts<Keys>): Adapter {
  const { location, prepare, durability } = parts;
  const common = { location, limits: STORE_LIMITS, prepare };
  const { breakLease: _, ...rows } = parts.elections;
  return {
    store: { ...common, ...parts.jobs, ...facetsIn(parts.entries, parts.keys), ...parts.logs, ...parts.retention },
    elections: { ...common, ...rows, listRows: parts.listElections },
    async trial(id) {
      const trial = await tryRows({ ...parts, rows }, id);
      if (trial.answeredInMs === undefined || durability === undefined) return trial;
      return { ...trial, durability: await durability() };
    },
  };
}
