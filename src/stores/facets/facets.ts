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
import { type Entries, type FacetKeys, dateOf, ifSeen } from '../port';
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

function controlsIn<Keys>(entries: Entries<Keys>, { controls: keys }: Pick<FacetKeys<Keys>, 'controls'>): ControlStore {
  return {
    async readControl(job, options) {
      const what = `read the control of ${job}`;
      const { now, head } = await entries.get({ what, kind: 'read', keys, id: job, options });
      return { control: head && { etag: head.etag, metadata: head.metadata }, date: dateOf(now) };
    },
    async writeControl(job, metadata, ifMatch, options) {
      const question = { what: `write the control of ${job}`, kind: 'write', keys, id: job, options } as const;
      const etag = await entries.put({ ...question, condition: ifSeen(ifMatch), metadata });
      return etag === undefined ? 'refused' : 'written';
    },
    async removeControl(job, ifMatch, options) {
      const question = { what: `remove the control of ${job}`, kind: 'delete', keys, id: job, options } as const;
      return (await entries.remove({ ...question, ifMatch })) ? 'removed' : 'refused';
    },
  };
}
