import { decodeAudit } from '../core/audit';
import type { JobName } from '../core/brand';
import { FLEET } from '../core/fleet';
import { shardOf } from '../core/layout';
import { sameMetadata } from '../core/metadata';
import { JOB_METHODS } from './methods';
import { askAll, mergedAudits, mergedListing, mergedPresences } from './merged';
import type { CallOptions, ControlStore, LeaseStore, ListOptions, Metadata } from './store';

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
  return {
    ...first,
    location: accounts.join(' and '),
    home,
    accounts: stores,
    async prepare(options) {
      await Promise.all(stores.map((store) => store.prepare(options)));
    },
    ...perJob(first, home),
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
    // An entry lies with the job that it is about, so that another account's outage prevents no change.
    writeAudit: (key, metadata, ...rest) => home(decodeAudit(metadata).target).writeAudit(key, metadata, ...rest),
    listAudits: (request, options) => mergedAudits(stores, request, options),
  };
}

type AnyMethod = (job: JobName, ...rest: readonly unknown[]) => Promise<unknown>;

/** Each of the first store's calls for a job, made in the store of the job. */
function perJob(first: LeaseStore, home: (job: string) => LeaseStore): Partial<LeaseStore> {
  const names = JOB_METHODS.filter((name) => first[name] !== undefined);
  const calls = names.map((name): [string, AnyMethod] => [
    name,
    (job, ...rest) => (home(job)[name] as AnyMethod)(job, ...rest),
  ]);
  return Object.fromEntries(calls);
}

/** The control of the fleet lies in each account, because each tick reads that of its account. The first one's decides. */
function controlsOf(stores: readonly LeaseStore[], first: LeaseStore, home: (job: string) => LeaseStore): ControlStore {
  const of = (job: JobName): LeaseStore => (job === FLEET ? first : home(job));
  const overwriteOthers = async (metadata: Metadata, options: CallOptions | undefined): Promise<void> => {
    for (const other of stores.slice(1)) await overwrite(other, metadata, options);
  };
  return {
    readControl: (job, ...rest) => of(job).readControl(job, ...rest),
    async writeControl(job, metadata, ifMatch, options) {
      if (job !== FLEET) return home(job).writeControl(job, metadata, ifMatch, options);
      // The first one comes last: repeated after a failure, the command finds its change not made, and makes it.
      await overwriteOthers(metadata, options);
      const answer = await first.writeControl(job, metadata, ifMatch, options);
      // Of two changes at once, the one that the first account refuses may be the last in the others.
      for (let settled = false; !settled;) {
        const { control } = await first.readControl(FLEET, options);
        if (control === undefined) break;
        await overwriteOthers(control.metadata, options);
        settled = (await first.readControl(FLEET, options)).control?.etag === control.etag;
      }
      return answer;
    },
    removeControl: (job, ...rest) => of(job).removeControl(job, ...rest),
  };
}

async function overwrite(store: LeaseStore, metadata: Metadata, options: CallOptions | undefined): Promise<void> {
  for (;;) {
    const { control } = await store.readControl(FLEET, options);
    if (control !== undefined && sameMetadata(control.metadata, metadata)) return;
    if ((await store.writeControl(FLEET, metadata, control?.etag, options)) === 'written') return;
  }
}

/** Listings of several accounts are not read in parts. */
function signalIn(options: ListOptions | undefined): ListOptions {
  return options?.signal === undefined ? {} : { signal: options.signal };
}
