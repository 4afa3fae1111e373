import type { ETag, JobName } from '../../core/brand';
import type {
  AuditStore,
  CallOptions,
  ControlStore,
  CreateAnswer,
  GroupStore,
  LedgerStore,
  LogStore,
  NoticeStore,
  PieceStore,
  PresenceStore,
  RequestStore,
  WriteAnswer,
} from '../../lease/store';
import { checkBody, checkLogText, checkMetadata } from '../limits';
import { type Entries, type FacetKeys, type Logs, dateOf, ifSeen } from '../port';

/** The facets whose objects are entries: metadata and mostly a body, written under a condition. */
type EntryFacets = ControlStore &
  LedgerStore &
  PieceStore &
  RequestStore &
  PresenceStore &
  NoticeStore &
  AuditStore &
  GroupStore;

export function facetsIn<Keys>(unchecked: Entries<Keys>, keys: FacetKeys<Keys>): EntryFacets {
  const entries: Entries<Keys> = {
    ...unchecked,
    async put(question) {
      checkMetadata(question.metadata);
      return unchecked.put(question);
    },
  };
  return {
    ...controlsIn(entries, keys('controls')),
    ...ledgerIn(entries, (job) => keys('records', job)),
    ...piecesIn(entries, (job) => keys('pieces', job)),
    ...requestsIn(entries, keys('requests')),
    ...presencesIn(entries, keys('presences')),
    ...noticesIn(entries, keys('notices')),
    ...auditsIn(entries, keys('audits')),
    ...groupsIn(entries, keys('groups')),
  };
}

function controlsIn<Keys>(entries: Entries<Keys>, keys: Keys): ControlStore {
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

function ledgerIn<Keys>(entries: Entries<Keys>, keysOf: (job: JobName) => Keys): LedgerStore {
  return {
    async createRecord(job, key, { body, summary: metadata }, options) {
      const question = { what: `create record ${key} of ${job}`, kind: 'write', keys: keysOf(job), options } as const;
      return created(await entries.put({ ...question, id: key, condition: 'absent', metadata, body }));
    },
    async replaceRecord(job, key, { body, summary: metadata }, ifMatch, options) {
      const question = { what: `replace record ${key} of ${job}`, kind: 'write', keys: keysOf(job), options } as const;
      const etag = await entries.put({ ...question, id: key, condition: ifSeen(ifMatch), metadata, body });
      return etag === undefined ? { kind: 'refused' } : { kind: 'replaced', etag };
    },
    async readRecord(job, key, options) {
      const what = `read record ${key} of ${job}`;
      const { head, body } = await entries.get({ what, kind: 'read', keys: keysOf(job), id: key, options });
      return head && { body: checkBody(`ledger record "${key}" of job "${job}"`, body), etag: head.etag };
    },
    async listRecords(job, request, options) {
      const question = { what: `list records of ${job}`, kind: 'listing', keys: keysOf(job), options } as const;
      const { items, continuation } = await entries.page({ ...question, ...request });
      return { records: items.map(({ id, etag, metadata }) => ({ key: id, etag, summary: metadata })), continuation };
    },
  };
}

function requestsIn<Keys>(entries: Entries<Keys>, keys: Keys): RequestStore {
  return {
    async createRequest(id, body, options) {
      const question = { what: `keep the input of request ${id}`, kind: 'write', keys, id, options } as const;
      return created(await entries.put({ ...question, condition: 'absent', metadata: {}, body })).kind;
    },
    async readRequest(id, options) {
      const what = `read the input of request ${id}`;
      const { head, body } = await entries.get({ what, kind: 'read', keys, id, options });
      return head && checkBody(`the input of request "${id}"`, body);
    },
  };
}

function groupsIn<Keys>(entries: Entries<Keys>, keys: Keys): GroupStore {
  return {
    async readGroup(group, options) {
      const what = `read group ${group}`;
      const { head, body } = await entries.get({ what, kind: 'read', keys, id: group, options });
      return head && { body: checkBody(`group "${group}"`, body), etag: head.etag };
    },
    async writeGroup(group, body, ifMatch, options) {
      const question = { what: `write group ${group}`, kind: 'write', keys, id: group, options } as const;
      return written(await entries.put({ ...question, condition: ifSeen(ifMatch), metadata: {}, body }));
    },
  };
}

function noticesIn<Keys>(entries: Entries<Keys>, keys: Keys): NoticeStore {
  return {
    async createNotice(id, { body, metadata }, options) {
      const question = { what: `create notice ${id}`, kind: 'write', keys, id, options } as const;
      return created(await entries.put({ ...question, condition: 'absent', metadata, body }));
    },
    async readNotice(id, options) {
      const { head, body } = await entries.get({ what: `read notice ${id}`, kind: 'read', keys, id, options });
      return head && checkBody(`notice "${id}"`, body);
    },
    async writeNotice(id, metadata, ifMatch, options) {
      const question = { what: `write notice ${id}`, kind: 'metadata', keys, id, options } as const;
      return written(await entries.put({ ...question, condition: { version: ifMatch }, metadata }));
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

function auditsIn<Keys>(entries: Entries<Keys>, keys: Keys): AuditStore {
  return {
    async writeAudit(key, metadata, ifMatch, options) {
      const question = { what: `write audit entry ${key}`, kind: 'write', keys, id: key, options } as const;
      return written(await entries.put({ ...question, condition: ifSeen(ifMatch), metadata }));
    },
    async listAudits(request, options) {
      const question = { what: 'list audit entries', kind: 'listing', keys, options } as const;
      const { items, continuation } = await entries.page({ ...question, ...request });
      return { audits: items.map(({ id, metadata }) => ({ key: id, metadata })), continuation };
    },
  };
}

function presencesIn<Keys>(entries: Entries<Keys>, keys: Keys): PresenceStore {
  return {
    async writePresence(deployment, metadata, ifMatch, options) {
      const question = { what: `write the presence of ${deployment}`, kind: 'write', keys, options } as const;
      const condition = ifMatch === undefined ? 'any' : { version: ifMatch };
      return written(await entries.put({ ...question, id: deployment, condition, metadata }));
    },
    async listPresences(options) {
      const { now, found, ...strays } = await entries.all({ what: 'list deployments', kind: 'listing', keys, options });
      const names = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const presences = new Map(names.map(([name, { etag, metadata }]) => [name, { etag, metadata }]));
      return { date: dateOf(now), presences, ...strays };
    },
  };
}

function piecesIn<Keys>(entries: Entries<Keys>, keysOf: (job: JobName) => Keys): PieceStore {
  /** Neither key nor name has a slash. */
  const named = (verb: string, job: JobName, key: string, name: string, options: CallOptions | undefined) => {
    const id = `${key}/${name}`;
    return { what: `${verb} piece ${id} of ${job}`, keys: keysOf(job), id, options };
  };
  return {
    async createPiece(job, key, name, { body, summary: metadata }, options) {
      const question = { ...named('create', job, key, name, options), kind: 'write' } as const;
      return created(await entries.put({ ...question, condition: 'absent', metadata, body })).kind;
    },
    async readPiece(job, key, name, options) {
      const question = named('read', job, key, name, options);
      const { head, body } = await entries.get({ ...question, kind: 'read' });
      return head && checkBody(`piece "${question.id}" of job "${job}"`, body);
    },
    async touchPiece(job, key, name, metadata, options) {
      const question = { ...named('touch', job, key, name, options), kind: 'metadata' } as const;
      const etag = await entries.put({ ...question, condition: 'there', metadata });
      return etag === undefined ? 'gone' : 'touched';
    },
    async listPieces(job, { key, prefix: names = '', ...request }, options) {
      const question = { what: `list pieces of ${job}`, kind: 'listing', keys: keysOf(job), options } as const;
      const prefix = key === undefined ? '' : `${key}/${names}`;
      const { now, items, continuation } = await entries.page({ ...question, ...request, prefix });
      const found = items.map(({ id, metadata, writtenMs }) => {
        const [run = '', name = ''] = id.split('/');
        return { key: run, name, summary: metadata, writtenAt: dateOf(writtenMs), date: dateOf(now) };
      });
      return { pieces: found, continuation };
    },
    async deletePiece(job, key, name, options) {
      await entries.remove({ ...named('delete', job, key, name, options), kind: 'delete' });
    },
  };
}

/** @param etag undefined: the key is taken */
function created(etag: ETag | undefined): CreateAnswer {
  return etag === undefined ? { kind: 'exists' } : { kind: 'created', etag };
}

/** @param etag undefined: the condition did not hold */
function written(etag: ETag | undefined): WriteAnswer {
  return etag === undefined ? { kind: 'refused' } : { kind: 'written', etag };
}

export function logsIn<Keys>(logs: Logs<Keys>, keys: FacetKeys<Keys>): LogStore {
  const named = (verb: string, job: JobName, key: string, name: string, options: CallOptions | undefined) => {
    const id = `${key}/${name}`;
    return { what: `${verb} log ${id} of ${job}`, keys: keys('logs', job), id, options };
  };
  return {
    async createLog(job, key, name, options) {
      const question = { ...named('create', job, key, name, options), kind: 'write' } as const;
      return (await logs.create(question)) ? 'created' : 'exists';
    },
    async appendLog(job, key, name, { text, at }, options) {
      checkLogText(text);
      const question = { ...named('append to', job, key, name, options), kind: 'append' } as const;
      return (await logs.append({ ...question, text, at })) ? 'appended' : 'refused';
    },
    readLog: (job, key, name, range, options) =>
      logs.read({ ...named('read', job, key, name, options), kind: 'read', ...range }),
    async listLogs(job, key, request, options) {
      const what = `list the logs of run ${key} of ${job}`;
      const question = { what, kind: 'listing', keys: keys('logs', job), options } as const;
      const prefix = `${key}/`;
      const { items, continuation } = await logs.page({ ...question, ...request, prefix });
      return { logs: items.map(({ id, bytes }) => ({ name: id.slice(prefix.length), bytes })), continuation };
    },
  };
}
