import { decodeAudit } from '../core/audit';
import { type LeaseStore, StoreError, StoreUnavailableError } from './store';

/** The place of the second audit, as its errors and `cronlease doctor` name it. */
export type SecondAudit = Pick<LeaseStore, 'location' | 'writeAudit' | 'listAudits'>;

/**
 * The store, with each audit entry first created in a second place. There, the beginning and the end of a change are
 * separate entries, because a place with an immutability policy accepts no entry twice. What cannot be written there is not
 * written here either: otherwise a change could leave its only trace where its author can delete it.
 */
export function withSecondAudit(store: LeaseStore, second: SecondAudit): LeaseStore {
  return {
    ...store,
    async writeAudit(key, metadata, ifMatch, options) {
      const { state } = decodeAudit(metadata);
      const answer = await created(second, `${key}-${state}`, metadata, options);
      return answer.kind === 'refused' ? answer : store.writeAudit(key, metadata, ifMatch, options);
    },
  };
}

async function created(
  second: SecondAudit,
  key: string,
  metadata: Parameters<LeaseStore['writeAudit']>[1],
  options: Parameters<LeaseStore['writeAudit']>[3],
): ReturnType<LeaseStore['writeAudit']> {
  try {
    return await second.writeAudit(key, metadata, undefined, options);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new StoreUnavailableError(`${second.location} (CRONLEASE_AUDIT) did not take the entry: ${error.message}`, {
      cause: error,
    });
  }
}
