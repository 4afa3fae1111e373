import {
  type LeaseBreaking,
  type LeaseStore,
  type Retention,
  type RowStore,
  StoreUnavailableError,
} from '../lease/store';

type Fact = 'location' | 'limits';
/** One store holds the objects of every job, so that none of these has `home`. */
type Method<Store> = Exclude<keyof Store, Fact | 'home' | 'accounts' | 'purgesDaily'>;
type Methods<Store> = Readonly<Record<Method<Store>, true>>;
type AnyMethod = (...args: readonly unknown[]) => Promise<unknown>;

const LEASES: Methods<RowStore> = {
  prepare: true,
  createRow: true,
  readRow: true,
  acquire: true,
  renew: true,
  writeRow: true,
  release: true,
};

/** Each method of a store that is loaded later. */
export const STORE_METHODS: Methods<LeaseStore & LeaseBreaking & Retention> = {
  ...LEASES,
  list: true,
  breakLease: true,
  purge: true,
  readControl: true,
  writeControl: true,
  removeControl: true,
  createRecord: true,
  replaceRecord: true,
  readRecord: true,
  listRecords: true,
  createLog: true,
  appendLog: true,
  readLog: true,
  listLogs: true,
  createPiece: true,
  readPiece: true,
  touchPiece: true,
  listPieces: true,
  deletePiece: true,
  createRequest: true,
  readRequest: true,
  writePresence: true,
  listPresences: true,
  createNotice: true,
  readNotice: true,
  writeNotice: true,
  deleteNotice: true,
  listNotices: true,
  writeAudit: true,
  listAudits: true,
  readGroup: true,
  writeGroup: true,
};

export const ELECTION_METHODS = { ...LEASES, listRows: true } as const;

/**
 * A store whose adapter is loaded at the first call: an app that uses another one neither reads nor installs it.
 *
 * @param load its errors count as storage that cannot be reached
 */
export function deferred<Store extends Pick<RowStore, Fact>>(
  facts: Pick<RowStore, Fact>,
  methods: Methods<Store>,
  load: () => Promise<Store>,
): Store {
  let loaded: Promise<Store> | undefined;
  const store = async (): Promise<Store> => {
    try {
      return await (loaded ??= load());
    } catch (cause) {
      loaded = undefined;
      const problem = cause instanceof Error ? (cause.message.split('\n', 1)[0] ?? '') : String(cause);
      throw new StoreUnavailableError(
        `${facts.location}: the adapter of this store cannot be loaded: ${problem}. A deployed package has it only if it ` +
          'was made with "npm run package -- --store NAME".',
        { cause },
      );
    }
  };
  const calls = Object.keys(methods).map((name): [string, AnyMethod] => [
    name,
    async (...args) => ((await store())[name as Method<Store>] as AnyMethod)(...args),
  ]);
  return { ...facts, ...Object.fromEntries(calls) } as Pick<RowStore, Fact> & Record<string, AnyMethod> as Store;
}
