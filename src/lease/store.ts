import type { JobName } from '../core/brand';
import type { CallOptions } from './port/call';
import type {
  AuditStore,
  ControlStore,
  GroupStore,
  LedgerStore,
  LogStore,
  NoticeStore,
  PieceStore,
  RequestStore,
  Retention,
} from './port/entries';
import type { ElectionStore, JobRowStore, PresenceStore } from './port/rows';

export * from './port/call';
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

type Before<Arguments> = Arguments extends readonly [...infer Others, unknown] ? Others['length'] : never;
type OptionsAt<Name extends Method> = Before<Required<Parameters<NonNullable<LeaseStore[Name]>>>>;

/**
 * The methods of the port: whether the first argument of each is a job, in whose account it is called, and how many
 * arguments come before its options.
 */
const METHODS: { readonly [Name in Method]: readonly [of: 'job' | 'other', optionsAt: OptionsAt<Name>] } = {
  prepare: ['other', 0],
  list: ['other', 0],
  createRow: ['job', 2],
  readRow: ['job', 1],
  acquire: ['job', 2],
  renew: ['job', 2],
  writeRow: ['job', 3],
  release: ['job', 2],
  breakLease: ['job', 2],
  readControl: ['job', 1],
  writeControl: ['job', 3],
  removeControl: ['job', 2],
  createRecord: ['job', 3],
  replaceRecord: ['job', 4],
  readRecord: ['job', 2],
  listRecords: ['job', 2],
  createLog: ['job', 3],
  appendLog: ['job', 4],
  readLog: ['job', 4],
  listLogs: ['job', 3],
  createPiece: ['job', 4],
  readPiece: ['job', 3],
  touchPiece: ['job', 4],
  listPieces: ['job', 2],
  deletePiece: ['job', 3],
  createRequest: ['other', 2],
  readRequest: ['other', 1],
  writePresence: ['other', 3],
  listPresences: ['other', 0],
  createNotice: ['other', 2],
  readNotice: ['other', 1],
  writeNotice: ['other', 3],
  deleteNotice: ['other', 1],
  listNotices: ['other', 1],
  writeAudit: ['other', 3],
  listAudits: ['other', 1],
  readGroup: ['other', 1],
  writeGroup: ['other', 3],
  purge: ['other', 1],
};

export const STORE_METHODS = Object.keys(METHODS) as readonly Method[];

export const JOB_METHODS = STORE_METHODS.filter((name) => METHODS[name][0] === 'job');

/** A method of a store, whichever it is. */
export type AnyMethod = (...args: readonly unknown[]) => Promise<unknown>;

/** The store, each of whose calls also ends with this signal. */
export function withSignal(store: LeaseStore, signal: AbortSignal): LeaseStore {
  const calls = STORE_METHODS.filter((name) => store[name] !== undefined).map((name): [string, AnyMethod] => {
    const [, at] = METHODS[name];
    const call: AnyMethod = (...args) => {
      const options = args[at] as CallOptions | undefined;
      const all = options?.signal === undefined ? signal : AbortSignal.any([options.signal, signal]);
      return (store[name] as AnyMethod)(...args.slice(0, at), { ...options, signal: all });
    };
    return [name, call];
  });
  const { home, accounts } = store;
  return {
    ...store,
    ...Object.fromEntries(calls),
    ...(home && { home: (job) => withSignal(home(job), signal) }),
    ...(accounts && { accounts: accounts.map((one) => withSignal(one, signal)) }),
  };
}

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
