import { type LeaseStore, StoreUnavailableError } from '../../src/lease/store';

/** A store whose calls fail after a number of calls, as if its process had been killed there. */
export function cutOffAfter(store: LeaseStore, calls: number): LeaseStore {
  let left = calls;
  return new Proxy(store, {
    get(target, property: keyof LeaseStore) {
      const member = target[property];
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]) => {
        left -= 1;
        if (left < 0) throw new StoreUnavailableError('the process was killed');
        return (await Reflect.apply(member, target, args)) as unknown;
      };
    },
  });
}
