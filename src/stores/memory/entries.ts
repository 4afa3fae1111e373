import type { JobName } from '../../core/brand';
import { BODY_BYTES } from '../limits';
import { type Condition, type Entries, type FacetKeys, pageOf } from '../port';
import { type Entry, type Folder, folderOf, heed, type State, written } from './state';

export const CONTROLS = 'jobs/';

export function foldersIn(state: State): FacetKeys<Folder> & { readonly logs: (job: JobName) => Folder } {
  return {
    controls: folderOf(state, CONTROLS),
    requests: folderOf(state, 'requests/'),
    presences: folderOf(state, 'deployments/'),
    notices: folderOf(state, 'notices/'),
    audits: folderOf(state, 'audit/'),
    groups: folderOf(state, 'groups/'),
    records: (job) => folderOf(state, `runs/${job}/`),
    pieces: (job) => folderOf(state, `fanout/${job}/`),
    logs: (job) => folderOf(state, `logs/${job}/`),
  };
}

export function entriesIn(state: State): Entries<Folder> {
  const { clock } = state;
  return {
    async put({ keys: folder, id, condition, metadata, body, options }) {
      heed(options);
      const head = { ...written(state, metadata), writtenMs: clock.now() };
      const before = folder.get(id);
      if (!holds(before, condition)) return undefined;
      folder.set(id, { ...head, body: body ?? before?.body ?? '' });
      return head.etag;
    },
    async get({ keys: folder, id, options }) {
      heed(options);
      const head = folder.get(id);
      const isOurs = head !== undefined && Buffer.byteLength(head.body) <= BODY_BYTES;
      return { now: clock.now(), head, body: isOurs ? head.body : undefined };
    },
    async page({ keys: folder, prefix = '', limit, continuation = '', options }) {
      heed(options);
      const found = [...folder].filter(([id]) => id.startsWith(prefix) && id > continuation);
      const sorted = found.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([id, head]) => ({ id, ...head }));
      return { now: clock.now(), ...pageOf(sorted, limit) };
    },
    async all({ keys: folder, options }) {
      heed(options);
      return { now: clock.now(), found: folder };
    },
    async remove({ keys: folder, id, ifMatch, options }) {
      heed(options);
      return holds(folder.get(id), ifMatch === undefined ? 'there' : { version: ifMatch }) && folder.delete(id);
    },
  };
}

function holds(entry: Entry | undefined, condition: Condition): boolean {
  switch (condition) {
    case 'absent':
      return entry === undefined;
    case 'there':
      return entry !== undefined;
    case 'any':
      return true;
    default:
      return entry?.etag === condition.version;
  }
}
