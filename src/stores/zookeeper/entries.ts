import type { EpochMs, ETag } from '../../core/brand';
import { byText } from '../../core/text';
import type { CallOptions, Retention } from '../../lease/store';
import { DISTURBED } from '../lease-automaton';
import { type Condition, type Entries, etagOf, type Head, type Kept, keptIn, type PageOf } from '../port';
import { type Ask, type Calls, untilUndisturbed } from './ask';
import { type Content, contentIn, dataOf, dropBody, dropFolder, loadBody, storeBody } from './bodies';
import { CODE, NoNodeError } from './errors';
import { type Folder, foldersOf, mayHold, pathOf, type Paths, unescaped } from './paths';
import { NO_VERSION, type Node, type Stat } from './protocol';
import type { Session } from './session';

export function entriesIn(ask: Ask, paths: Paths): Entries<Folder> {
  return {
    async put({ id, keys: folder, condition, metadata, body, ...question }) {
      return ask(question, async (session) => {
        const place = { session, paths, path: pathOf(folder, id) };
        const stored = body === undefined ? KEPT : await storeBody(session, paths, place.path, body);
        const content = { metadata, ...stored };
        const etag = await putContent(place, foldersOf(folder, id), condition, content);
        if (etag === undefined) await dropBody(session, paths, content.parts);
        return etag;
      });
    },
    get: ({ id, keys: folder, ...question }) =>
      ask({ ...question, isNothing: ({ head }) => head === undefined }, (session) =>
        untilUndisturbed(async () => {
          const [{ now }, node] = await session.asOfNow(() => session.get(pathOf(folder, id)));
          if (node === undefined) return { now, head: undefined, body: undefined };
          const body = await loadBody(session, paths, contentIn(node.data));
          return body === DISTURBED ? body : { now, head: headIn(node), body };
        }),
      ),
    page: ({ keys: folder, prefix, limit, continuation, ...question }) =>
      ask(question, async (session) => {
        const page = await pageOf(session, folder, { prefix, limit, continuation });
        return { now: page.now, items: await headsOf(session, folder, page.ids), continuation: page.continuation };
      }),
    all: ({ keys: folder, ...question }) =>
      ask(question, async (session) => {
        const [{ now }, ids] = await session.asOfNow(() => namesIn(session, folder.path));
        const heads = await headsOf(session, folder, ids);
        return { now, found: new Map(heads.map(({ id, ...head }) => [id, head])) };
      }),
    remove: ({ id, keys: folder, ifMatch, ...question }) =>
      ask(question, async (session) => {
        const path = pathOf(folder, id);
        const [, node] = await session.asOfNow(() => session.get(path));
        if (node === undefined || (ifMatch !== undefined && etagAt(node.stat) !== ifMatch)) return false;
        const version = ifMatch === undefined ? NO_VERSION : node.stat.version;
        const answer = await session.multi([{ kind: 'delete', path, version }]);
        if (answer.kind === 'refused') return false;
        await dropBody(session, paths, contentIn(node.data).parts);
        return true;
      }),
  };
}

interface EntryNode {
  readonly session: Calls;
  readonly paths: Paths;
  readonly path: string;
}

/** `inline` is undefined if the body is to stay. */
type NewContent = Pick<Content, 'metadata' | 'parts'> & { readonly inline: Buffer | undefined };

const KEPT = { parts: undefined, inline: undefined };

function putContent(
  place: EntryNode,
  folders: readonly string[],
  condition: Condition,
  content: NewContent,
): Promise<ETag | undefined> {
  const { session, path } = place;
  const create = () => createEntry(place, folders, content);
  return untilUndisturbed(async () => {
    if (condition === 'absent') return create();
    const [, node] = await session.asOfNow(() => session.get(path));
    if (node === undefined) return condition === 'any' ? ((await create()) ?? DISTURBED) : undefined;
    if (typeof condition !== 'string' && etagAt(node.stat) !== condition.version) return undefined;
    const etag = await replaceEntry(place, node, content);
    // Another condition than a version holds for what someone else has just written, too.
    return etag ?? (typeof condition === 'string' ? DISTURBED : undefined);
  });
}

/** Undefined: it exists. */
async function createEntry({ session, path }: EntryNode, folders: readonly string[], content: NewContent) {
  const data = dataOf({ ...content, inline: content.inline ?? Buffer.alloc(0) });
  const by = await createIn(session, folders, path, data);
  return by === undefined ? undefined : etagAt({ createdBy: by, version: 0 });
}

/**
 * Creates a node, with the folders in which it lies.
 *
 * @returns the number of the transaction; undefined: it exists
 * @throws NoNodeError
 */
export async function createIn(
  session: Session,
  folders: readonly string[],
  path: string,
  data: Buffer,
): Promise<bigint | undefined> {
  let answer = await session.multi([{ kind: 'create', path, data }]);
  if (answer.kind === 'refused' && answer.code === CODE.noNode) {
    await makeFolders(session, folders);
    answer = await session.multi([{ kind: 'create', path, data }]);
  }
  if (answer.kind === 'done') return answer.by;
  if (answer.code === CODE.nodeExists) return undefined;
  throw new NoNodeError();
}

async function makeFolders(session: Session, folders: readonly string[]): Promise<void> {
  for (const path of folders) {
    const answer = await session.multi([{ kind: 'create', path, data: Buffer.alloc(0) }]);
    if (answer.kind === 'refused' && answer.code !== CODE.nodeExists) throw new NoNodeError();
  }
}

/** Undefined: another writer has written it since it was read. */
async function replaceEntry({ session, paths, path }: EntryNode, node: Node, content: NewContent) {
  const old = contentIn(node.data);
  const { inline, parts } = content.inline === undefined ? old : content;
  const data = dataOf({ metadata: content.metadata, parts, inline: inline ?? Buffer.alloc(0) });
  const answer = await session.multi([{ kind: 'set', path, data, version: node.stat.version }]);
  const [stat] = answer.kind === 'done' ? answer.stats : [];
  if (stat === undefined) return undefined;
  if (content.inline !== undefined) await dropBody(session, paths, old.parts);
  return etagAt(stat);
}

/** Those of the entries that are still there. */
async function headsOf(session: Session, folder: Folder, ids: readonly string[]) {
  const nodes = await Promise.all(ids.map((id) => session.get(pathOf(folder, id))));
  return ids.flatMap((id, index) => {
    const node = nodes[index];
    return node === undefined ? [] : [{ id, ...headIn(node) }];
  });
}

function headIn({ data, stat }: Node): Head {
  return { etag: etagAt(stat), writtenMs: stat.writtenMs, metadata: contentIn(data).metadata };
}

/** Versions begin again where a node is deleted and created again, so that the ETag names its creation, too. */
export function etagAt({ createdBy, version }: Pick<Stat, 'createdBy' | 'version'>): ETag {
  return etagOf(`${createdBy.toString(16)}-${version}`);
}

/** The ids in one folder, in order. */
export async function namesIn(session: Session, path: string): Promise<readonly string[]> {
  return ((await session.children(path)) ?? []).map(unescaped).toSorted(byText);
}

/** One page of ids, in order. */
export async function pageOf(
  session: Calls,
  { path, isDivided }: Folder,
  { prefix = '', limit, continuation = '' }: PageOf,
): Promise<{ readonly now: EpochMs; readonly ids: readonly string[]; readonly continuation: string | undefined }> {
  const [{ now }, names = []] = await session.asOfNow(() => session.children(path));
  const ids: string[] = [];
  const add = (found: readonly string[]): void => {
    for (const id of found) if (id.startsWith(prefix) && id > continuation) ids.push(id);
  };
  if (!isDivided) add(names.map(unescaped).toSorted(byText));
  else {
    for (const division of names.toSorted((a, b) => byText(unescaped(a), unescaped(b)))) {
      if (mayHold(division, prefix, continuation)) add(await namesIn(session, `${path}/${division}`));
      if (ids.length > limit) break;
    }
  }
  return { now, ids: ids.slice(0, limit), continuation: ids.length > limit ? ids[limit - 1] : undefined };
}

/** At most so many entries are deleted in one call of a job. */
const BATCH = 1_000;
/** A body has its entry within the time of a call. */
const ORPHAN_MS = 3_600_000;

/** What a lifecycle rule does for blobs. The age of an entry is that of its node's last write, by the leader's time. */
export function purgeIn(ask: Ask, paths: Paths): Retention['purge'] {
  return async (keep, options) => {
    let deleted = 0;
    for (const kept of keptIn(paths.entries, keep)) {
      deleted += await purgeFolder({ ask, paths, options }, kept, BATCH - deleted);
      if (deleted >= BATCH) return 'more';
    }
    await purgeBodies({ ask, paths, options });
    return 'done';
  };
}

interface Purge {
  readonly ask: Ask;
  readonly paths: Paths;
  readonly options: CallOptions | undefined;
}

/**
 * The oldest entries of a folder are at its end, because their keys count down, but for those that were written out of
 * turn. It stops at a division of which nothing is old. Each division is its own call.
 */
async function purgeFolder(
  { ask, paths, options }: Purge,
  { keys: folder, keepMs }: Kept<Folder>,
  limit: number,
): Promise<number> {
  const question = { what: 'delete old entries', kind: 'delete', options } as const;
  const names = await ask(question, async (session) => {
    const [, found = []] = await session.asOfNow(() => session.children(folder.path));
    return found.toSorted().toReversed();
  });
  let deleted = 0;
  for (const division of folder.isDivided ? names : ['']) {
    const { of, found } = await ask(question, async (session) => {
      const path = division === '' ? folder.path : `${folder.path}/${division}`;
      const [{ now }, ids] = await session.asOfNow(() => namesIn(session, path));
      const old = await purgeIds(session, paths, folder, { ids, before: now - keepMs, limit: limit - deleted });
      // A new entry makes it again.
      if (division !== '' && old === ids.length) await session.multi([{ kind: 'delete', path, version: NO_VERSION }]);
      return { of: ids.length, found: old };
    });
    deleted += found;
    if (deleted >= limit || (found === 0 && of > 0)) break;
  }
  return deleted;
}

async function purgeIds(
  session: Session,
  paths: Paths,
  folder: Folder,
  { ids, before, limit }: { readonly ids: readonly string[]; readonly before: EpochMs; readonly limit: number },
): Promise<number> {
  const stats = await Promise.all(ids.map((id) => session.stat(pathOf(folder, id))));
  const old = ids.filter((_, index) => {
    const stat = stats[index];
    return stat !== undefined && stat.writtenMs < before;
  });
  const batch = old.slice(0, limit);
  await Promise.all(batch.map((id) => purgeEntry(session, paths, pathOf(folder, id))));
  return batch.length;
}

async function purgeEntry(session: Session, paths: Paths, path: string): Promise<void> {
  const node = await session.get(path);
  // A log is a folder of its texts, and has no first line.
  const parts = node?.data.includes('\n') === true ? contentIn(node.data).parts : undefined;
  await dropFolder(session, path);
  await dropBody(session, paths, parts);
}

/** Deletes bodies whose entry was never written, or names another one. Each batch is its own call. */
async function purgeBodies({ ask, paths, options }: Purge): Promise<void> {
  const question = { what: 'delete bodies without entries', kind: 'delete', options } as const;
  const ids = await ask(question, (session) => namesIn(session, paths.parts));
  for (let from = 0; from < ids.length; from += BATCH) {
    await ask(question, (session) => purgeParts(session, paths, ids.slice(from, from + BATCH)));
  }
}

async function purgeParts(session: Calls, paths: Paths, ids: readonly string[]): Promise<void> {
  const folders = ids.map((id) => ({ id, folder: `${paths.parts}/${id}` }));
  const [{ now }, nodes] = await session.asOfNow(() => Promise.all(folders.map(({ folder }) => session.get(folder))));
  const old = folders.flatMap((one, index) => {
    const node = nodes[index];
    return node === undefined || node.stat.writtenMs > now - ORPHAN_MS ? [] : [{ ...one, owner: node.data.toString() }];
  });
  const owners = await Promise.all(old.map(({ owner }) => session.get(owner)));
  const orphans = old.filter(({ id }, index) => {
    const owner = owners[index];
    return owner === undefined || contentIn(owner.data).parts?.id !== id;
  });
  await Promise.all(orphans.map(({ folder }) => dropFolder(session, folder)));
}
