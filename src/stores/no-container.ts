import { StoreUnavailableError } from '../lease/store';

/** The remedy is the same in every store, because the tick is the same (`tick/missing-container.ts`). */
const REMEDY =
  'The container does not exist: check its name. If it was deleted, a running app creates it again after 75 s.';

/** @param more what else may be the cause in this store */
export function noContainer(said: string, cause: Error, more = ''): StoreUnavailableError {
  return new StoreUnavailableError(`${said}. ${REMEDY}${more}`, { cause, noContainer: true });
}
