import { BODY_BYTES } from '../limits';
import { type Condition, type Entries, type Logs, pageOf } from '../port';
import { type Entry, type Folder, heed, type State, written } from './state';

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
      return { now: clock.now(), ...pageOf(entriesAfter(folder, prefix, continuation), limit) };
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

/** A log is an entry whose body grows. */
export function logsOf(state: State): Logs<Folder> {
  const textOf = (body: string) => ({ ...written(state, {}), writtenMs: state.clock.now(), body });
  return {
    async create({ keys: folder, id, options }) {
      heed(options);
      if (folder.has(id)) return false;
      folder.set(id, textOf(''));
      return true;
    },
    async append({ keys: folder, id, text, at, options }) {
      heed(options);
      const before = folder.get(id)?.body;
      if (before?.length !== at) return false;
      folder.set(id, textOf(before + text));
      return true;
    },
    async read({ keys: folder, id, from, limit, options }) {
      heed(options);
      return folder.get(id)?.body.slice(from, from + limit);
    },
    async page({ keys: folder, prefix, limit, continuation = '', options }) {
      heed(options);
      const { items, ...page } = pageOf(entriesAfter(folder, prefix, continuation), limit);
      return { items: items.map(({ id, body }) => ({ id, bytes: body.length })), ...page };
    },
  };
}

function entriesAfter(
  folder: Folder,
  prefix: string,
  continuation: string,
): readonly (Entry & { readonly id: string })[] {
  const found = [...folder].filter(([id]) => id.startsWith(prefix) && id > continuation);
  return found.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([id, head]) => ({ id, ...head }));
}
