import type { ElectionStore, LeaseStore } from './store';

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

type AnyMethod = (...args: readonly unknown[]) => Promise<unknown>;

/** The store, each of whose calls has this signal. */
export function withSignal(store: LeaseStore, signal: AbortSignal): LeaseStore {
  const calls = STORE_METHODS.filter((name) => store[name] !== undefined).map((name): [string, AnyMethod] => {
    const [, at] = METHODS[name];
    const call: AnyMethod = (...args) =>
      (store[name] as AnyMethod)(...args.slice(0, at), { ...(args[at] as object | undefined), signal });
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
