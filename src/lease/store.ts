import type { JobName } from '../core/brand';
import type {
  AuditStore,
  ControlStore,
  GroupStore,
  LedgerStore,
  ListedPiece,
  LogStore,
  NoticeStore,
  PieceStore,
  RequestStore,
  Retention,
} from './port/entries';
import type { ElectionStore, JobRowStore, PresenceStore } from './port/rows';

export type * from './port/entries';
export * from './port/rows';

/**
 * The storage port, in facets, which the files of `port` hold. A store implements all of them; a consumer takes the
 * facets that it uses.
 *
 * Contract, checked by `test/conformance`:
 * - Every method rejects with `StoreUnavailableError` if the service did not answer, throttled or failed (the
 *   call may or may not have taken effect), with `StoreDeniedError` if it refused the caller, and with the
 *   signal's reason if the caller gave up. A lost race is an answer, never an error.
 * - A method makes one attempt. Repeating it is up to the caller, because only the caller knows what a second call
 *   would do.
 * - `date` is the time of the answer by the service's clock, cut to whole seconds.
 * - Metadata keys are lowercase letters. Values are printable ASCII, not empty, with no space at either end. A store
 *   rejects other metadata, and anything beyond its `StoreLimits`, before the call, with `StoreLimitError`.
 * - The service checks conditions and leases and applies the change in one step.
 */
export interface LeaseStore
  extends
    JobRowStore,
    ControlStore,
    LedgerStore,
    LogStore,
    PieceStore,
    RequestStore,
    PresenceStore,
    NoticeStore,
    AuditStore,
    GroupStore,
    Partial<Retention> {
  /** The store of only this job, with all its objects. Left out where this store holds those of every job. */
  home?(job: JobName): LeaseStore;
  /** The store of each account, if the jobs are distributed over several. */
  readonly accounts?: readonly LeaseStore[];
}

type Fact = 'location' | 'limits' | 'home' | 'accounts' | 'purgesDaily';
type Method = Exclude<keyof LeaseStore, Fact>;

/** The methods of the port, and whether the first argument of each is a job, in whose account it is called. */
const METHODS: Readonly<Record<Method, 'job' | 'other'>> = {
  prepare: 'other',
  list: 'other',
  createRow: 'job',
  readRow: 'job',
  acquire: 'job',
  renew: 'job',
  writeRow: 'job',
  release: 'job',
  breakLease: 'job',
  readControl: 'job',
  writeControl: 'job',
  removeControl: 'job',
  createRecord: 'job',
  replaceRecord: 'job',
  readRecord: 'job',
  listRecords: 'job',
  createLog: 'job',
  appendLog: 'job',
  readLog: 'job',
  listLogs: 'job',
  createPiece: 'job',
  readPiece: 'job',
  touchPiece: 'job',
  listPieces: 'job',
  deletePiece: 'job',
  createRequest: 'other',
  readRequest: 'other',
  writePresence: 'other',
  listPresences: 'other',
  createNotice: 'other',
  readNotice: 'other',
  writeNotice: 'other',
  deleteNotice: 'other',
  listNotices: 'other',
  writeAudit: 'other',
  listAudits: 'other',
  readGroup: 'other',
  writeGroup: 'other',
  purge: 'other',
};

export const STORE_METHODS = Object.keys(METHODS) as readonly Method[];

export const JOB_METHODS = STORE_METHODS.filter((name) => METHODS[name] === 'job');

const ELECTIONS: Readonly<Record<Exclude<keyof ElectionStore, Fact>, true>> = {
  prepare: true,
  createRow: true,
  readRow: true,
  acquire: true,
  renew: true,
  writeRow: true,
  release: true,
  listRows: true,
};

export const ELECTION_METHODS = Object.keys(ELECTIONS) as readonly (keyof typeof ELECTIONS)[];

/**
 * All pages of a listing of pieces.
 *
 * @param list one call, which spreads `next` into its request
 */
export async function allPieces(
  list: (next: { readonly continuation?: string }) => ReturnType<PieceStore['listPieces']>,
): Promise<readonly ListedPiece[]> {
  const found: ListedPiece[] = [];
  let continuation: string | undefined;
  do {
    const page = await list(continuation === undefined ? {} : { continuation });
    found.push(...page.pieces);
    continuation = page.continuation;
  } while (continuation !== undefined);
  return found;
}
