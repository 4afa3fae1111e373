import type { LeaseStore } from '../../src/lease/store';
import type { Instance } from './rival-ticks';

/** The methods of a store. */
type Method = Exclude<keyof LeaseStore, 'location'>;
type Wrap<Name extends Method> = (call: LeaseStore[Name]) => LeaseStore[Name];

/** The store with one method replaced by a wrapper. */
export function intercepted<Name extends Method>(store: LeaseStore, method: Name, wrap: Wrap<Name>): LeaseStore {
  return { ...store, [method]: wrap(store[method]) };
}

/** From now on the instance calls this method instead of its store's own. */
export function interceptStore<Name extends Method>(instance: Instance, method: Name, wrap: Wrap<Name>): void {
  const place: { store: LeaseStore } = instance.coordinator;
  place.store = intercepted(place.store, method, wrap);
}
