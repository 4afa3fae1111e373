import { type LeaseStore, StoreUnavailableError } from '../../../src/lease/store';
import type { MemoryService } from '../../../src/stores/memory/store';

/** How calls to a lost storage account fail. */
export type Gone = 'refuses' | 'hangs';

/** Opens the service. A lost account applies no call, not even a late one. */
export function openAccount(service: MemoryService, gone: () => Gone | undefined): ReturnType<MemoryService['open']> {
  return new Proxy(service.open(), {
    get(target, property: keyof LeaseStore) {
      const member = target[property];
      if (typeof member !== 'function') return member;
      return async (...parameters: unknown[]) => {
        if (gone() !== undefined) throw new StoreUnavailableError('simulated: the account is gone');
        return Reflect.apply(member, target, parameters) as unknown;
      };
    },
  });
}
