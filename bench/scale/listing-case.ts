import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { LeaseStore } from '../../src/lease/store';
import { connectContainer } from '../../src/stores/azure-blob/connection';
import { azureBlobStore } from '../../src/stores/azure-blob/store';
import { systemClock } from '../../src/system-clock';
import type { ListingCost, ListingResult } from './figures';

const REPETITIONS = 5;

/**
 * Measures the listing of so many jobs on a service that answers each page after 100 ms: the first listing of a process,
 * which reads page after page, and each later one, in turn.
 */
export async function listingCase(jobs: number): Promise<ListingResult> {
  const child = fork(path.join(__dirname, 'listing-server.js'), [String(jobs)]);
  try {
    const [port] = (await once(child, 'message')) as [number];
    const acquainted = openAt(port);
    await acquainted.store.list();
    const first: ListingCost[] = [];
    const later: ListingCost[] = [];
    for (let time = 0; time < REPETITIONS; time += 1) {
      first.push(await listed(openAt(port), jobs));
      later.push(await listed(acquainted, jobs));
    }
    return { jobs, first: median(first), later: median(later) };
  } finally {
    child.disconnect();
  }
}

interface Counted {
  readonly store: LeaseStore;
  calls: number;
}

function openAt(port: number): Counted {
  const account = `AccountName=acme;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:${String(port)}/acme`;
  const onCall = (): void => {
    counted.calls += 1;
  };
  const container = connectContainer({ CRONLEASE_STORAGE: account }, undefined, { onCall });
  const counted = { store: azureBlobStore({ container, clock: systemClock }), calls: 0 };
  return counted;
}

async function listed(counted: Counted, jobs: number): Promise<ListingCost> {
  counted.calls = 0;
  const before = process.cpuUsage();
  const startedAt = performance.now();
  const listing = await counted.store.list();
  const wallMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(before);
  if (listing.jobs.size !== jobs) throw new Error(`${String(listing.jobs.size)} of ${String(jobs)} jobs were listed`);
  return { wallMs, cpuMs: (user + system) / 1000, calls: counted.calls };
}

function median(costs: readonly ListingCost[]): ListingCost {
  const middle = costs.toSorted((one, other) => one.wallMs - other.wallMs)[costs.length >> 1];
  if (middle === undefined) throw new Error('nothing was measured');
  return middle;
}
