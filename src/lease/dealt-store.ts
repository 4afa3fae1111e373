import { decodeAudit } from '../core/audit';
import type { JobName } from '../core/brand';
import { FLEET } from '../core/fleet';
import { shardOf } from '../core/shards';
import { askAll, mergedAudits, mergedListing, mergedPresences } from './merged';
import type { ControlStore, LeaseStore, ListOptions, Metadata } from './store';

/**
 * The stores of several accounts as operators see them: a job's calls go to its account, and listings show the jobs of
 * all. An account that does not answer is named in the listing, and the others are shown.
 *
 * Coordinators do not use it: each has the store of one account, so that an outage of another one is none of its
 * business.
 */
export function dealtStore(stores: readonly LeaseStore[]): LeaseStore {
  const [first] = stores;
  if (first === undefined) throw new Error('there is no store to deal jobs to');
  if (stores.length === 1) return first;
  const accounts = stores.map(({ location }) => location);
  const home = (name: string): LeaseStore => stores[shardOf(name, accounts)] ?? first;
  const { breakLease } = first;
  return {
    ...first,
    location: accounts.join(' and '),
    home,
    accounts: stores,
    async prepare(options) {
      await Promise.all(stores.map((store) => store.prepare(options)));
    },
    ...perJob(home),
    ...(breakLease === undefined
      ? {}
      : { breakLease: (job, ...rest) => (home(job).breakLease ?? breakLease)(job, ...rest) }),
    ...controlsOf(stores, first, home),
    async list(options) {
      if (options?.job !== undefined) return home(options.job).list(options);
      const { answers, missing } = await askAll(stores, (store) => store.list(signalIn(options)));
      const layouts = stores.map((store) => {
        const listing = answers.find((one) => one.store === store);
        return {
          location: store.location,
          layout: listing === undefined ? ('missing' as const) : listing.answer.layout,
        };
      });
      const merged = mergedListing(answers, (job, listing) => listing.store === home(job));
      return { ...merged, accounts: layouts, ...missing };
    },
    async listPresences(options) {
      const { answers, missing } = await askAll(stores, (store) => store.listPresences(options));
      return { ...mergedPresences(answers), ...missing };
    },
    // An entry lies with the job that it is about, so that another account's outage keeps nobody from a change.
    writeAudit: (key, metadata, ...rest) => home(decodeAudit(metadata).target).writeAudit(key, metadata, ...rest),
    listAudits: (request, options) => mergedAudits(stores, request, options),
  };
}

type PerJob = Omit<
  LeaseStore,
  | 'location'
  | 'limits'
  | 'prepare'
  | 'list'
  | 'home'
  | 'accounts'
  | keyof ControlStore
  | `${string}${'Request' | 'Presence' | 'Presences' | 'Notice' | 'Notices' | 'Audit' | 'Audits' | 'Group'}`
  | 'breakLease'
>;

function perJob(home: (job: string) => LeaseStore): PerJob {
  return {
    createRow: (job, ...rest) => home(job).createRow(job, ...rest),
    readRow: (job, ...rest) => home(job).readRow(job, ...rest),
    acquire: (job, ...rest) => home(job).acquire(job, ...rest),
    renew: (job, ...rest) => home(job).renew(job, ...rest),
    writeRow: (job, ...rest) => home(job).writeRow(job, ...rest),
    release: (job, ...rest) => home(job).release(job, ...rest),
    createRecord: (job, ...rest) => home(job).createRecord(job, ...rest),
    replaceRecord: (job, ...rest) => home(job).replaceRecord(job, ...rest),
    readRecord: (job, ...rest) => home(job).readRecord(job, ...rest),
    listRecords: (job, ...rest) => home(job).listRecords(job, ...rest),
    createLog: (job, ...rest) => home(job).createLog(job, ...rest),
    appendLog: (job, ...rest) => home(job).appendLog(job, ...rest),
    readLog: (job, ...rest) => home(job).readLog(job, ...rest),
    listLogs: (job, ...rest) => home(job).listLogs(job, ...rest),
    createPiece: (job, ...rest) => home(job).createPiece(job, ...rest),
    readPiece: (job, ...rest) => home(job).readPiece(job, ...rest),
    touchPiece: (job, ...rest) => home(job).touchPiece(job, ...rest),
    listPieces: (job, ...rest) => home(job).listPieces(job, ...rest),
    deletePiece: (job, ...rest) => home(job).deletePiece(job, ...rest),
  };
}

/** The control of the fleet lies in each account, since each tick reads that of its own. The first one's decides. */
function controlsOf(stores: readonly LeaseStore[], first: LeaseStore, home: (job: string) => LeaseStore): ControlStore {
  const of = (job: JobName): LeaseStore => (job === FLEET ? first : home(job));
  return {
    readControl: (job, ...rest) => of(job).readControl(job, ...rest),
    async writeControl(job, metadata, ifMatch, options) {
      if (job === FLEET) {
        // The first one comes last: repeated after a failure, the command finds its change not made, and makes it.
        for (const other of stores.slice(1)) await overwrite(other, metadata, options);
      }
      return of(job).writeControl(job, metadata, ifMatch, options);
    },
    removeControl: (job, ...rest) => of(job).removeControl(job, ...rest),
  };
}

async function overwrite(
  store: LeaseStore,
  metadata: Metadata,
  options: Parameters<ControlStore['writeControl']>[3],
): Promise<void> {
  for (;;) {
    const { control } = await store.readControl(FLEET, options);
    if ((await store.writeControl(FLEET, metadata, control?.etag, options)) === 'written') return;
  }
}

/** Listings of several accounts are not read in parts. */
function signalIn(options: ListOptions | undefined): ListOptions {
  return options?.signal === undefined ? {} : { signal: options.signal };
}
