import type { JobName } from '../../../src/core/brand';
import { Elector } from '../../../src/election/elector';
import { checkOptions } from '../../../src/election/options';
import { mistakeIn } from '../../simulation/world/crash';
import type { Member } from '../algorithms/algorithm';
import { LEASE_MS, type StorePlace } from '../algorithms/lease';
import type { Leadership } from '../../../src/election/leadership';

const NAME = 'compared' as JobName;

/** The product's own election: the code behind `LeaderElection`, over the simulated store. */
export function cronlease({ id, clock, random, store }: StorePlace): Member {
  let term: Leadership | undefined;
  const container = { url: '', create: unused, getBlockBlobClient: unused };
  const settings = checkOptions(
    {
      container,
      name: NAME,
      id: String(id),
      lease: LEASE_MS,
      task: ({ signal, ...leadership }) => {
        term = { ...leadership, signal };
        return aborted(signal);
      },
    },
    () => String(id),
    store.limits.leaseMs,
  );
  const newId = (): string => `${digits()}-0000-4000-8000-0000${digits()}`;
  const digits = (): string => String(random.whole(0, 99_999_999)).padStart(8, '0');
  const elector = new Elector(settings, { store, clock, random: random.next, newId }, (event) => {
    if (event.kind !== 'error') return;
    const mistake = mistakeIn([event.error]);
    if (mistake !== undefined) throw new Error(`the elector of instance ${String(id)} crashed: ${mistake}`);
  });
  elector.start();
  return {
    get leads() {
      return elector.isLeader;
    },
    get token() {
      return elector.isLeader ? term?.token : undefined;
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else
      signal.addEventListener(
        'abort',
        () => {
          resolve();
        },
        { once: true },
      );
  });
}

function unused(): never {
  throw new Error('the simulated store is used instead');
}
