import type {
  AuditStore,
  ControlStore,
  GroupStore,
  LedgerStore,
  NoticeStore,
  PieceStore,
  PresenceStore,
  RequestStore,
} from '../../lease/store';
import type { Entries, FacetKeys } from '../port';
import { controlsIn } from './controls';
import { groupsIn, ledgerIn, requestsIn } from './ledger';
import { auditsIn, noticesIn, presencesIn } from './notices';
import { piecesIn } from './pieces';

/** The facets whose objects are entries: metadata and mostly a body, written under a condition. */
type EntryFacets = ControlStore &
  LedgerStore &
  PieceStore &
  RequestStore &
  PresenceStore &
  NoticeStore &
  AuditStore &
  GroupStore;

export function facetsIn<Keys>(entries: Entries<Keys>, keys: FacetKeys<Keys>): EntryFacets {
  return {
    ...controlsIn(entries, keys),
    ...ledgerIn(entries, keys),
    ...piecesIn(entries, keys),
    ...requestsIn(entries, keys),
    ...presencesIn(entries, keys),
    ...noticesIn(entries, keys),
    ...auditsIn(entries, keys),
    ...groupsIn(entries, keys),
  };
}
