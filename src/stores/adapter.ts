import type { JobName, LeaseId, Millis } from '../core/brand';
import type { Clock } from '../core/clock';
import type { CallOutcome } from '../core/storage-call';
import type {
  ElectionStore,
  LeaseBreaking,
  LeaseStore,
  ListedRow,
  LogStore,
  Retention,
  RowStore,
} from '../lease/store';
import {
  type Durability,
  type FirstLook,
  type Remedies,
  type StoreNouns,
  type Trial,
  startTrying,
  tryLook,
} from '../lease/trial';
import type { NamedServer } from './exposure';
import { facetsIn } from './facets/facets';
import { STORE_LIMITS } from './limits';
import type { Entries, FacetKeys, JobRowCalls, RowCalls } from './port';

const LEASE_MS = 15_000;

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

interface Tried {
  readonly rows: Pick<RowStore, 'createRow' | 'readRow' | 'acquire' | 'writeRow' | 'release'>;
  readonly clock: Clock;
  readonly look: FirstLook;
  readonly deleteRow: (name: JobName) => Promise<unknown>;
  readonly nouns: StoreNouns;
  readonly remedies: Remedies;
}

/**
 * Tries each kind of call that coordination makes, on its own row, and removes that. Never rejects with a `StoreError`.
 */
async function tryRows({ rows, clock, look, deleteRow, nouns, remedies }: Tried, id: string): Promise<Trial> {
  const name = `doctor-${id}` as JobName;
  const leaseId = id as LeaseId;
  const { attempt, failures, untried } = startTrying();
  const seen = await tryLook({ attempt }, clock, look);
  let created = false;
  if (seen.container === 'there') {
    await attempt('read', () => rows.readRow(name));
    created = await attempt('create', () => rows.createRow(name, { trial: '1' }));
    let row: ListedRow | undefined;
    if (created) {
      await attempt('read', async () => {
        row = await rows.readRow(name);
      });
    }
    if (row !== undefined) {
      const ifMatch = row.etag;
      if (await attempt('lease', () => rows.acquire(name, { leaseId, leaseMs: LEASE_MS, ifMatch }))) {
        await attempt('write', () => rows.writeRow(name, { trial: '2' }, { leaseId, ifMatch }));
        await attempt('release', () => rows.release(name, leaseId));
      }
    }
    if (created) await attempt('delete', () => deleteRow(name));
  }
  return {
    ...seen,
    nouns,
    remedies,
    failures,
    untried: untried(),
    versioned: undefined,
    left: created && failures.has('delete') ? name : undefined,
  };
}
