import type { RowStore } from '../../../src/lease/store';
import { memoryService } from '../../../src/stores/memory/store';
import { START } from '../../simulation/world/world';
import type { Seat, World } from './world';

/** The store of the leases: the memory store, which passes the same conformance suite as the one for Azure. */
export interface LeaseService {
  /** The store as one process reaches it: over the network, which may lose a call or its answer. */
  reach(seat: Seat): RowStore;
}

export function leaseService({ timeline, links }: World): LeaseService {
  const service = memoryService({
    now: () => START + Math.floor(timeline.now()),
    monotonic: timeline.now,
    after: timeline.after,
  }).open();
  return {
    reach: ({ id, process, campaigned }) =>
      new Proxy<RowStore>(service, {
        get(target, property: keyof RowStore) {
          const method = target[property];
          if (typeof method !== 'function') return method;
          return (...parameters: unknown[]) => {
            if (property === 'acquire') campaigned();
            // A caller that gives up does not recall its request.
            const sent = parameters.map((one) => (isOptions(one) ? { ...one, signal: undefined } : one));
            return new Promise((resolve, reject) => {
              const answer = (settle: () => void): void => {
                links.send('leases', id, () => {
                  process.enter(settle);
                });
              };
              links.send(id, 'leases', () => {
                (Reflect.apply(method, target, sent) as Promise<unknown>).then(
                  (value) => {
                    answer(() => {
                      resolve(value);
                    });
                  },
                  (error: unknown) => {
                    answer(() => {
                      reject(error instanceof Error ? error : new Error(String(error)));
                    });
                  },
                );
              });
            });
          };
        },
      }),
  };
}

function isOptions(value: unknown): value is { readonly signal?: unknown } {
  return typeof value === 'object' && value !== null && 'signal' in value;
}
