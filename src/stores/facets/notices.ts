import type { AuditStore, NoticeStore, PresenceStore } from '../../lease/store';
import { bodyOf, dateOf, type Entries, type FacetKeys, ifSeen } from '../port';

export function noticesIn<Keys>(
  entries: Entries<Keys>,
  { notices: keys }: Pick<FacetKeys<Keys>, 'notices'>,
): NoticeStore {
  return {
    async createNotice(id, { body, metadata }, options) {
      const question = { what: `create notice ${id}`, kind: 'write', keys, id, options } as const;
      const etag = await entries.put({ ...question, condition: 'absent', metadata, body });
      return etag === undefined ? { kind: 'exists' } : { kind: 'created', etag };
    },
    async readNotice(id, options) {
      const { head, body } = await entries.get({ what: `read notice ${id}`, kind: 'read', keys, id, options });
      return head && bodyOf(`notice "${id}"`, body);
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

export function auditsIn<Keys>(entries: Entries<Keys>, { audits: keys }: Pick<FacetKeys<Keys>, 'audits'>): AuditStore {
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

export function presencesIn<Keys>(
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
