import type { ETag, JobName, Millis } from '../../core/brand';
import type { Clock } from '../../core/clock';
import { FLEET } from '../../core/fleet';
import type {
  AuditStore,
  CallOptions,
  ControlStore,
  JobRowStore,
  LeaseBreaking,
  LeaseStore,
  LedgerStore,
  ListedJob,
  ListedPiece,
  ListedPresence,
  ListedRow,
  LogStore,
  Metadata,
  PieceStore,
  PresenceStore,
  RequestStore,
  StoredRecord,
} from '../../lease/store';
import { STORE_LIMITS, BODY_BYTES, checkBody, checkLogText, checkMetadata, leaseSeconds } from '../limits';
import { acquire, breakLease, isOf, type Lease, listedLease, mayWrite, NO_LEASE, renew } from './lease';

/** A storage service in this process, with the rules of blob leases and a settable clock. */
export interface MemoryService {
  /** Opens a handle for one instance. All handles see the same rows; each call takes effect at once. */
  open(): LeaseStore & LeaseBreaking;
  /** Breaks a row's lease, as a person can in the portal. Without a lease nothing changes. */
  breakLease(job: JobName, periodMs: Millis): void;
  /** Deletes one record, as a lifecycle rule does with old ones. */
  deleteRecord(job: JobName, key: string): void;
  checkpoint(): Checkpoint;
  /**
   * Puts every blob back to an earlier state, as a failover to a secondary that lags behind does. Each blob has its own
   * replication, so `stateOf` names the checkpoint for each, by its name. A held lease ends at its old time if it is kept.
   */
  failOver(checkpoints: readonly Checkpoint[], stateOf: (blob: string) => Checkpoint, leases: 'kept' | 'gone'): void;
}

/** The state of every blob at one instant. */
export type Checkpoint = Omit<State, 'clock' | 'writes'>;

interface Stored {
  readonly etag: ETag;
  readonly metadata: Metadata;
}

interface Row extends Stored {
  readonly lease: Lease;
}

interface Ledgered extends Stored {
  readonly body: string;
}

interface State {
  readonly clock: Clock;
  readonly rows: Map<JobName, Row>;
  readonly controls: Map<JobName, Stored>;
  readonly ledgers: Map<JobName, Map<string, Ledgered>>;
  /** The text of each log, by job, and by key and name. */
  readonly logs: Map<JobName, Map<string, string>>;
  readonly pieces: Map<JobName, Map<string, ListedPiece & { readonly body: string; readonly writtenAt: number }>>;
  readonly requests: Map<string, string>;
  readonly presences: Map<string, ListedPresence>;
  readonly audits: Map<string, Stored>;
  writes: number;
}

/** Leases use the clock's monotonic time, and answers have its wall time. */
export function memoryService(clock: Clock): MemoryService {
  const state: State = {
    clock,
    rows: new Map(),
    controls: new Map(),
    ledgers: new Map(),
    logs: new Map(),
    pieces: new Map(),
    requests: new Map(),
    presences: new Map(),
    audits: new Map(),
    writes: 0,
  };
  return {
    open: () => ({
      location: 'memory',
      limits: STORE_LIMITS,
      prepare: async (options) => heed(options),
      ...rowsOf(state),
      ...controlsOf(state),
      ...ledgerOf(state),
      ...logsOf(state),
      ...piecesOf(state),
      ...requestsOf(state),
      ...presencesOf(state),
      ...auditsOf(state),
    }),
    breakLease(job, periodMs) {
      const row = state.rows.get(job);
      if (row === undefined) return;
      state.rows.set(job, { ...row, lease: breakLease(row.lease, periodMs, clock.monotonic()) });
    },
    deleteRecord(job, key) {
      state.ledgers.get(job)?.delete(key);
    },
    checkpoint: () => ({
      rows: new Map(state.rows),
      controls: new Map(state.controls),
      presences: new Map(state.presences),
      requests: new Map(state.requests),
      audits: new Map(state.audits),
      ledgers: copiesOf(state.ledgers),
      logs: copiesOf(state.logs),
      pieces: copiesOf(state.pieces),
    }),
    failOver: (checkpoints, stateOf, leases) => {
      failOver(state, { checkpoints, stateOf }, leases);
    },
  };
}

interface Past {
  readonly checkpoints: readonly Checkpoint[];
  readonly stateOf: (blob: string) => Checkpoint;
}

function failOver(state: State, past: Past, leases: 'kept' | 'gone'): void {
  const { rows } = state;
  goBack(
    past,
    rows,
    (at) => at.rows,
    (job) => `jobs/${job}/lease`,
  );
  if (leases === 'gone') for (const [job, row] of rows) rows.set(job, { ...row, lease: NO_LEASE });
  goBack(
    past,
    state.controls,
    (at) => at.controls,
    (job) => `jobs/${job}/control`,
  );
  goBack(
    past,
    state.presences,
    (at) => at.presences,
    (name) => `deployments/${name}`,
  );
  goBack(
    past,
    state.requests,
    (at) => at.requests,
    (id) => `requests/${id}`,
  );
  goBack(
    past,
    state.audits,
    (at) => at.audits,
    (key) => `audit/${key}`,
  );
  goBackIn(past, state.ledgers, (at) => at.ledgers, 'runs');
  goBackIn(past, state.logs, (at) => at.logs, 'logs');
  goBackIn(past, state.pieces, (at) => at.pieces, 'fanout');
}

/** Puts the blobs back that each job has in a folder of its own. */
function goBackIn<Blob>(
  past: Past,
  folders: ReadonlyMap<JobName, Map<string, Blob>>,
  foldersOf: (at: Checkpoint) => ReadonlyMap<JobName, ReadonlyMap<string, Blob>>,
  folder: string,
): void {
  for (const [job, blobs] of folders) {
    goBack(
      past,
      blobs,
      (at) => foldersOf(at).get(job),
      (name) => `${folder}/${job}/${name}`,
    );
  }
}

/** Handles share the maps, so that a map is never replaced. */
function goBack<Key, Blob>(
  { checkpoints, stateOf }: Past,
  map: Map<Key, Blob>,
  blobsOf: (at: Checkpoint) => ReadonlyMap<Key, Blob> | undefined,
  nameOf: (key: Key) => string,
): void {
  map.clear();
  for (const key of new Set(checkpoints.flatMap((at) => [...(blobsOf(at)?.keys() ?? [])]))) {
    const blob = blobsOf(stateOf(nameOf(key)))?.get(key);
    if (blob !== undefined) map.set(key, blob);
  }
}

function copiesOf<Key, Name, Blob>(all: ReadonlyMap<Key, ReadonlyMap<Name, Blob>>): Map<Key, Map<Name, Blob>> {
  return new Map([...all].map(([key, blobs]) => [key, new Map(blobs)]));
}

function rowsOf(state: State): Omit<JobRowStore & LeaseBreaking, 'location' | 'limits' | 'prepare'> {
  return { ...listing(state), ...leases(state) };
}

function listing(state: State): Pick<JobRowStore, 'list' | 'readRow'> {
  const { clock, rows, controls } = state;
  const listedRow = ({ etag, metadata, lease }: Row): ListedRow => ({
    etag,
    ...listedLease(lease, clock.monotonic()),
    metadata,
  });
  return {
    async list(options) {
      heed(options);
      const all = options?.job === undefined;
      const names = all ? new Set([...rows.keys(), ...controls.keys()]) : [options.job];
      const fleet = all ? controls.get(FLEET) : undefined;
      const jobs = new Map<JobName, ListedJob>();
      const date = dateOf(clock);
      for (const job of names) {
        const row = rows.get(job);
        const control = controls.get(job);
        if (job === FLEET || (row === undefined && control === undefined)) continue;
        jobs.set(job, { ...(row && { row: listedRow(row) }), ...(control && { control }), date });
      }
      return { date, jobs, ...(fleet && { fleet }) };
    },
    async readRow(job, options) {
      heed(options);
      const row = rows.get(job);
      return row && listedRow(row);
    },
  };
}

function leases(
  state: State,
): Omit<JobRowStore & LeaseBreaking, 'location' | 'limits' | 'prepare' | 'list' | 'readRow'> {
  const { clock, rows } = state;
  return {
    async createRow(job, metadata, options) {
      heed(options);
      const stored = store(state, metadata);
      if (rows.has(job)) return 'exists';
      rows.set(job, { ...stored, lease: NO_LEASE });
      return 'created';
    },
    async acquire(job, { leaseId, leaseMs, ifMatch }, options) {
      heed(options);
      const duration = leaseSeconds(leaseMs) * 1000;
      const row = rows.get(job);
      if (row === undefined || row.etag !== ifMatch) return { kind: 'lost' };
      const lease = acquire(row.lease, leaseId, duration, clock.monotonic());
      if (lease === undefined) return { kind: 'lost' };
      rows.set(job, { ...row, lease });
      return { kind: 'acquired', date: dateOf(clock) };
    },
    async renew(job, leaseId, options) {
      heed(options);
      const row = rows.get(job);
      const lease = row && renew(row.lease, leaseId, clock.monotonic());
      if (row === undefined || lease === undefined) return 'lost';
      rows.set(job, { ...row, lease });
      return 'renewed';
    },
    async writeRow(job, metadata, { leaseId, ifMatch }, options) {
      heed(options);
      const stored = store(state, metadata);
      const row = rows.get(job);
      if (row === undefined || row.etag !== ifMatch || !mayWrite(row.lease, leaseId, clock.monotonic())) {
        return { kind: 'refused' };
      }
      rows.set(job, { ...stored, lease: row.lease });
      return { kind: 'written', etag: stored.etag, date: dateOf(clock) };
    },
    async release(job, leaseId, options) {
      heed(options);
      const row = rows.get(job);
      if (row === undefined || !isOf(row.lease, leaseId)) return 'lost';
      if (options?.ifMatch !== undefined && row.etag !== options.ifMatch) return 'lost';
      rows.set(job, { ...row, lease: NO_LEASE });
      return 'released';
    },
    async breakLease(job, ifMatch, options) {
      heed(options);
      const row = rows.get(job);
      if (row === undefined || row.etag !== ifMatch || row.lease.kind === 'none') return { kind: 'lost' };
      const now = clock.monotonic();
      const lease = breakLease(row.lease, STORE_LIMITS.leaseMs.most, now);
      rows.set(job, { ...row, lease });
      // The service rounds the answer to whole seconds.
      const left = lease.kind === 'none' ? 0 : Math.max(0, lease.until - now);
      return { kind: 'broken', leftMs: Math.round(left / 1000) * 1000 };
    },
  };
}

function controlsOf(state: State): ControlStore {
  const { clock, controls } = state;
  return {
    async readControl(job, options) {
      heed(options);
      return { control: controls.get(job), date: dateOf(clock) };
    },
    async writeControl(job, metadata, ifMatch, options) {
      heed(options);
      const stored = store(state, metadata);
      if (controls.get(job)?.etag !== ifMatch) return 'refused';
      controls.set(job, stored);
      return 'written';
    },
    async removeControl(job, ifMatch, options) {
      heed(options);
      if (controls.get(job)?.etag !== ifMatch) return 'refused';
      controls.delete(job);
      return 'removed';
    },
  };
}

function ledgerOf(state: State): LedgerStore {
  const recordsOf = (job: JobName): Map<string, Ledgered> => {
    const ledger = state.ledgers.get(job) ?? new Map<string, Ledgered>();
    state.ledgers.set(job, ledger);
    return ledger;
  };
  const put = (job: JobName, key: string, record: StoredRecord, ifMatch: ETag | undefined): ETag | undefined => {
    const stored = store(state, record.summary);
    const ledger = recordsOf(job);
    if (ledger.get(key)?.etag !== ifMatch) return undefined;
    ledger.set(key, { ...stored, body: record.body });
    return stored.etag;
  };
  return {
    async createRecord(job, key, record, options) {
      heed(options);
      const etag = put(job, key, record, undefined);
      return etag === undefined ? { kind: 'exists' } : { kind: 'created', etag };
    },
    async replaceRecord(job, key, record, ifMatch, options) {
      heed(options);
      const etag = put(job, key, record, ifMatch);
      return etag === undefined ? { kind: 'refused' } : { kind: 'replaced', etag };
    },
    async readRecord(job, key, options) {
      heed(options);
      const found = recordsOf(job).get(key);
      return found && { body: limited(`ledger record "${key}" of job "${job}"`, found.body), etag: found.etag };
    },
    async listRecords(job, { prefix = '', limit, continuation = '' }, options) {
      heed(options);
      const found = [...recordsOf(job)]
        .filter(([key]) => key.startsWith(prefix) && key > continuation)
        .sort(([a], [b]) => (a < b ? -1 : 1));
      const page = found.slice(0, limit);
      return {
        records: page.map(([key, { etag, metadata }]) => ({ key, etag, summary: metadata })),
        continuation: page.length < found.length ? page.at(-1)?.[0] : undefined,
      };
    },
  };
}

function requestsOf({ requests }: State): RequestStore {
  return {
    async createRequest(id, body, options) {
      heed(options);
      if (requests.has(id)) return 'exists';
      requests.set(id, body);
      return 'created';
    },
    async readRequest(id, options) {
      heed(options);
      const body = requests.get(id);
      return body === undefined ? undefined : limited(`the input of request "${id}"`, body);
    },
  };
}

function logsOf({ logs }: State): LogStore {
  const ofJob = (job: JobName): Map<string, string> => {
    const all = logs.get(job) ?? new Map<string, string>();
    logs.set(job, all);
    return all;
  };
  return {
    async createLog(job, key, name, options) {
      heed(options);
      const all = ofJob(job);
      const id = `${key}/${name}`;
      if (all.has(id)) return 'exists';
      all.set(id, '');
      return 'created';
    },
    async appendLog(job, key, name, { text, at }, options) {
      heed(options);
      checkLogText(text);
      const all = ofJob(job);
      const id = `${key}/${name}`;
      const before = all.get(id);
      if (before?.length !== at) return 'refused';
      all.set(id, before + text);
      return 'appended';
    },
    async readLog(job, key, name, { from, limit }, options) {
      heed(options);
      return ofJob(job)
        .get(`${key}/${name}`)
        ?.slice(from, from + limit);
    },
    async listLogs(job, key, { limit, continuation = '' }, options) {
      heed(options);
      const found = [...ofJob(job)]
        .filter(([id]) => id.startsWith(`${key}/`))
        .map(([id, text]) => ({ name: id.slice(key.length + 1), bytes: text.length }))
        .filter(({ name }) => name > continuation)
        .sort((a, b) => (a.name < b.name ? -1 : 1));
      const page = found.slice(0, limit);
      return { logs: page, continuation: page.length < found.length ? page.at(-1)?.name : undefined };
    },
  };
}

function piecesOf(state: State): PieceStore {
  type Pieces = Map<string, ListedPiece & { readonly body: string; readonly writtenAt: number }>;
  const ofJob = (job: JobName): Pieces => {
    const pieces: Pieces = state.pieces.get(job) ?? new Map();
    state.pieces.set(job, pieces);
    return pieces;
  };
  return {
    async createPiece(job, key, name, { body, summary }, options) {
      heed(options);
      const { metadata } = store(state, summary);
      const pieces = ofJob(job);
      const id = `${key}/${name}`;
      if (pieces.has(id)) return 'exists';
      pieces.set(id, { key, name, body, summary: metadata, writtenAt: dateOf(state.clock) });
      return 'created';
    },
    async readPiece(job, key, name, options) {
      heed(options);
      const body = ofJob(job).get(`${key}/${name}`)?.body;
      return body === undefined ? undefined : limited(`${key}/${name}`, body);
    },
    async touchPiece(job, key, name, options) {
      heed(options);
      const pieces = ofJob(job);
      const id = `${key}/${name}`;
      const piece = pieces.get(id);
      if (piece === undefined) return 'gone';
      pieces.set(id, { ...piece, summary: {}, writtenAt: dateOf(state.clock) });
      return 'touched';
    },
    async pieceWritten(job, key, name, options) {
      heed(options);
      const piece = ofJob(job).get(`${key}/${name}`);
      return piece && { writtenAt: piece.writtenAt, date: dateOf(state.clock) };
    },
    async listPieces(job, { key, limit, continuation = '' }, options) {
      heed(options);
      const found = [...ofJob(job)]
        .filter(([id, piece]) => (key === undefined || piece.key === key) && id > continuation)
        .sort(([a], [b]) => (a < b ? -1 : 1));
      const page = found.slice(0, limit);
      return {
        pieces: page.map(([, { key: run, name, summary }]) => ({ key: run, name, summary })),
        continuation: page.length < found.length ? page.at(-1)?.[0] : undefined,
      };
    },
    async deletePiece(job, key, name, options) {
      heed(options);
      ofJob(job).delete(`${key}/${name}`);
    },
  };
}

function presencesOf(state: State): PresenceStore {
  const { clock, presences } = state;
  return {
    async writePresence(deployment, metadata, ifMatch, options) {
      heed(options);
      const stored = store(state, metadata);
      if (ifMatch !== undefined && presences.get(deployment)?.etag !== ifMatch) return { kind: 'refused' };
      presences.set(deployment, stored);
      return { kind: 'written', etag: stored.etag };
    },
    async listPresences(options) {
      heed(options);
      return { date: dateOf(clock), presences: new Map(presences) };
    },
  };
}

function auditsOf(state: State): AuditStore {
  const { audits } = state;
  return {
    async writeAudit(key, metadata, ifMatch, options) {
      heed(options);
      const stored = store(state, metadata);
      if (audits.get(key)?.etag !== ifMatch) return { kind: 'refused' };
      audits.set(key, stored);
      return { kind: 'written', etag: stored.etag };
    },
    async listAudits({ limit, continuation = '' }, options) {
      heed(options);
      const found = [...audits].filter(([key]) => key > continuation).sort(([a], [b]) => (a < b ? -1 : 1));
      const page = found.slice(0, limit);
      return {
        audits: page.map(([key, { metadata }]) => ({ key, metadata })),
        continuation: page.length < found.length ? page.at(-1)?.[0] : undefined,
      };
    },
  };
}

function heed(options: CallOptions | undefined): void {
  options?.signal?.throwIfAborted();
}

function store(state: State, metadata: Metadata): Stored {
  checkMetadata(metadata);
  state.writes += 1;
  return { etag: `"0x${state.writes.toString(16)}"` as ETag, metadata: Object.freeze({ ...metadata }) };
}

function limited(what: string, body: string): string {
  return checkBody(what, Buffer.byteLength(body) > BODY_BYTES ? undefined : body);
}

function dateOf(clock: Clock): number {
  return Math.floor(clock.now() / 1000) * 1000;
}
