import type { LeaseId, Millis } from '../../../src/core/brand';
import { type LeaseStore, StoreUnavailableError } from '../../../src/lease/store';
import type { MemoryService } from '../../../src/stores/memory/store';

/** How calls to a lost storage account fail. */
export type Gone = 'refuses' | 'hangs';

/** The lengths with which leases were acquired, in a service that changes none. */
export type FixedLengths = Map<LeaseId, Millis>;

/** Opens the service. A lost account applies no call, not even a late one. */
export function openAccount(
  service: MemoryService,
  gone: () => Gone | undefined,
  lengths?: FixedLengths,
): ReturnType<MemoryService['open']> {
  return new Proxy(service.open(), {
    get(target, property: keyof LeaseStore) {
      const member = target[property];
      if (typeof member !== 'function') return member;
      return async (...parameters: unknown[]) => {
        if (gone() !== undefined) throw new StoreUnavailableError('simulated: the account is gone');
        if (property === 'acquire' && lengths !== undefined) {
          const [, { leaseId, leaseMs }] = parameters as Parameters<LeaseStore['acquire']>;
          const length = lengths.get(leaseId) ?? leaseMs;
          lengths.set(leaseId, length);
          if (length !== leaseMs) return { kind: 'lost' };
        }
        return Reflect.apply(member, target, parameters) as unknown;
      };
    },
  });
}
