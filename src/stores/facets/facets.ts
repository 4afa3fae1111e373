import type { EpochMs, JobName } from '../../core/brand';
import { FLEET } from '../../core/fleet';
import { given } from '../../core/given';
import { LAYOUT } from '../../core/layout';
import type {
  AuditStore,
  ControlStore,
  GroupStore,
  LedgerStore,
  ListedControl,
  ListedJob,
  ListedRow,
  Listing,
  NoticeStore,
  PieceStore,
  PresenceStore,
  RequestStore,
} from '../../lease/store';
import { checkBody } from '../limits';
import { type Entries, type FacetKeys, dateOf, ifSeen } from '../port';

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

function ledgerIn<Keys>(entries: Entries<Keys>, { records }: Pick<FacetKeys<Keys>, 'records'>): LedgerStore {
  return {
    async createRecord(job, key, { body, summary: metadata }, options) {
      const question = { what: `create record ${key} of ${job}`, kind: 'write', keys: records(job), options } as const;
      const etag = await entries.put({ ...question, id: key, condition: 'absent', metadata, body });
      return etag === undefined ? { kind: 'exists' } : { kind: 'created', etag };
    },
    async replaceRecord(job, key, { body, summary: metadata }, ifMatch, options) {
      const question = { what: `replace record ${key} of ${job}`, kind: 'write', keys: records(job), options } as const;
      const etag = await entries.put({ ...question, id: key, condition: ifSeen(ifMatch), metadata, body });
      return etag === undefined ? { kind: 'refused' } : { kind: 'replaced', etag };
    },
    async readRecord(job, key, options) {
      const what = `read record ${key} of ${job}`;
      const { head, body } = await entries.get({ what, kind: 'read', keys: records(job), id: key, options });
      return head && { body: checkBody(`ledger record "${key}" of job "${job}"`, body), etag: head.etag };
    },
    async listRecords(job, request, options) {
      const question = { what: `list records of ${job}`, kind: 'listing', keys: records(job), options } as const;
      const { items, continuation } = await entries.page({ ...question, ...request });
      return { records: items.map(({ id, etag, metadata }) => ({ key: id, etag, summary: metadata })), continuation };
    },
  };
}

function requestsIn<Keys>(entries: Entries<Keys>, { requests: keys }: Pick<FacetKeys<Keys>, 'requests'>): RequestStore {
  return {
    async createRequest(id, body, options) {
      const question = { what: `keep the input of request ${id}`, kind: 'write', keys, id, options } as const;
      const etag = await entries.put({ ...question, condition: 'absent', metadata: {}, body });
      return etag === undefined ? 'exists' : 'created';
    },
    async readRequest(id, options) {
      const what = `read the input of request ${id}`;
      const { head, body } = await entries.get({ what, kind: 'read', keys, id, options });
      return head && checkBody(`the input of request "${id}"`, body);
    },
  };
}

function groupsIn<Keys>(entries: Entries<Keys>, { groups: keys }: Pick<FacetKeys<Keys>, 'groups'>): GroupStore {
  return {
    async readGroup(group, options) {
      const what = `read group ${group}`;
      const { head, body } = await entries.get({ what, kind: 'read', keys, id: group, options });
      return head && { body: checkBody(`group "${group}"`, body), etag: head.etag };
    },
    async writeGroup(group, body, ifMatch, options) {
      const question = { what: `write group ${group}`, kind: 'write', keys, id: group, options } as const;
      const etag = await entries.put({ ...question, condition: ifSeen(ifMatch), metadata: {}, body });
      return etag === undefined ? { kind: 'refused' } : { kind: 'written', etag };
    },
  };
}

function noticesIn<Keys>(entries: Entries<Keys>, { notices: keys }: Pick<FacetKeys<Keys>, 'notices'>): NoticeStore {
  return {
    async createNotice(id, { body, metadata }, options) {
      const question = { what: `create notice ${id}`, kind: 'write', keys, id, options } as const;
      const etag = await entries.put({ ...question, condition: 'absent', metadata, body });
      return etag === undefined ? { kind: 'exists' } : { kind: 'created', etag };
    },
    async readNotice(id, options) {
      const { head, body } = await entries.get({ what: `read notice ${id}`, kind: 'read', keys, id, options });
      return head && checkBody(`notice "${id}"`, body);
    },
    async writeNotice(id, metadata, ifMatch, options) {
      const question = { what: `write notice ${id}`, kind: 'metadata', keys, id, options } as const;
      const etag = await entries.put({ ...question, condition: { version: ifMatch }, metadata });
      return etag === undefined ? { kind: 'refused' } : { kind: 'written', etag };
    },
    async deleteNotice(id, options) {
      await entries.remove({ what: `delete notice ${id}`, kind: 'delete', keys, id, options });
    },
    async listNotices(request, options) {
      const question = { what: 'list notices', kind: 'listing', keys, options } as const;
      const { items, continuation } = await entries.page({ ...question, ...request });
      return { notices: items.map(({ id, etag, metadata }) => ({ id, etag, metadata })), continuation };
    },
  };
}

function auditsIn<Keys>(entries: Entries<Keys>, { audits: keys }: Pick<FacetKeys<Keys>, 'audits'>): AuditStore {
  return {
    async writeAudit(key, metadata, ifMatch, options) {
      const question = { what: `write audit entry ${key}`, kind: 'write', keys, id: key, options } as const;
      const etag = await entries.put({ ...question, condition: ifSeen(ifMatch), metadata });
      return etag === undefined ? { kind: 'refused' } : { kind: 'written', etag };
    },
    async listAudits(request, options) {
      const question = { what: 'list audit entries', kind: 'listing', keys, options } as const;
      const { items, continuation } = await entries.page({ ...question, ...request });
      return { audits: items.map(({ id, metadata }) => ({ key: id, metadata })), continuation };
    },
  };
}

function presencesIn<Keys>(
  entries: Entries<Keys>,
  { presences: keys }: Pick<FacetKeys<Keys>, 'presences'>,
): PresenceStore {
  return {
    async writePresence(deployment, metadata, ifMatch, options) {
      const question = { what: `write the presence of ${deployment}`, kind: 'write', keys, options } as const;
      const condition = ifMatch === undefined ? 'any' : { version: ifMatch };
      const etag = await entries.put({ ...question, id: deployment, condition, metadata });
      return etag === undefined ? { kind: 'refused' } : { kind: 'written', etag };
    },
    async listPresences(options) {
      const { now, found, ...strays } = await entries.all({ what: 'list deployments', kind: 'listing', keys, options });
      const names = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const presences = new Map(names.map(([name, { etag, metadata }]) => [name, { etag, metadata }]));
      return { date: dateOf(now), presences, ...strays };
    },
  };
}

/** A piece's id is its run's key and its name: neither key nor name has a slash. */
function piecesIn<Keys>(entries: Entries<Keys>, { pieces }: Pick<FacetKeys<Keys>, 'pieces'>): PieceStore {
  return {
    async createPiece(job, key, name, { body, summary: metadata }, options) {
      const id = `${key}/${name}`;
      const question = { what: `create piece ${id} of ${job}`, kind: 'write', keys: pieces(job), id, options } as const;
      const etag = await entries.put({ ...question, condition: 'absent', metadata, body });
      return etag === undefined ? 'exists' : 'created';
    },
    async readPiece(job, key, name, options) {
      const id = `${key}/${name}`;
      const what = `read piece ${id} of ${job}`;
      const { head, body } = await entries.get({ what, kind: 'read', keys: pieces(job), id, options });
      return head && checkBody(`piece "${id}" of job "${job}"`, body);
    },
    async touchPiece(job, key, name, metadata, options) {
      const id = `${key}/${name}`;
      const question = {
        what: `touch piece ${id} of ${job}`,
        kind: 'metadata',
        keys: pieces(job),
        id,
        options,
      } as const;
      const etag = await entries.put({ ...question, condition: 'there', metadata });
      return etag === undefined ? 'gone' : 'touched';
    },
    async listPieces(job, { key, prefix: names = '', ...request }, options) {
      const question = { what: `list pieces of ${job}`, kind: 'listing', keys: pieces(job), options } as const;
      const prefix = key === undefined ? '' : `${key}/${names}`;
      const { now, items, continuation } = await entries.page({ ...question, ...request, prefix });
      const found = items.map(({ id, metadata, writtenMs }) => {
        const [run = '', name = ''] = id.split('/');
        return { key: run, name, summary: metadata, writtenAt: dateOf(writtenMs), date: dateOf(now) };
      });
      return { pieces: found, continuation };
    },
    async deletePiece(job, key, name, options) {
      const id = `${key}/${name}`;
      await entries.remove({ what: `delete piece ${id} of ${job}`, kind: 'delete', keys: pieces(job), id, options });
    },
  };
}

/**
 * Rows and controls of one instant as a listing. That of one job has neither the fleet nor the layout.
 *
 * @param entries of the controls; the listing has nothing else of them than a control needs
 */
export function listingOf(
  date: EpochMs,
  rows: ReadonlyMap<string, ListedRow>,
  entries: ReadonlyMap<string, ListedControl>,
  only: JobName | undefined,
): Listing {
  const controls = new Map([...entries].map(([name, { etag, metadata }]) => [name, { etag, metadata }]));
  const jobs = new Map<JobName, ListedJob>();
  for (const name of new Set([...rows.keys(), ...controls.keys()] as JobName[])) {
    if (name === FLEET || name === LAYOUT) continue;
    jobs.set(name, { ...given({ row: rows.get(name), control: controls.get(name) }), date });
  }
  if (only !== undefined) return { date, jobs };
  return { date, jobs, ...given({ fleet: controls.get(FLEET), layout: controls.get(LAYOUT) }) };
}
