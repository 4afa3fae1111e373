import type { EpochMs, ETag } from '../../core/brand';
import { byText } from '../../core/text';
import type { Metadata } from '../../lease/store';
import { DISTURBED } from '../lease-automaton';
import { type Condition, type Entries, type Head, type PageOf, etagOf } from '../port';
import { type Ask, asOfNow, untilUndisturbed } from './ask';
import { type Content, contentIn, dataOf, dropBody, loadBody, storeBody } from './bodies';
import { CODE, NoNodeError } from './errors';
import { type Folder, foldersOf, mayHold, pathOf, type Paths, unescaped } from './paths';
import { type Node, NO_VERSION, type Stat } from './protocol';
import type { Session } from './session';

export function entriesIn(ask: Ask, paths: Paths): Entries<Folder> {
  return {
    async put({ id, keys: folder, condition, metadata, body, ...question }) {
      return ask({ ...question, isNothing }, async (session) => {
        const place = { session, paths, path: pathOf(folder, id) };
        const content = await storedContent(place, metadata, body);
        const etag = await putContent(place, foldersOf(folder, id), condition, content);
        if (etag === undefined) await dropBody(session, paths, content.parts);
        return etag;
      });
    },
    get: ({ id, keys: folder, ...question }) =>
      ask({ ...question, isNothing: ({ head }) => head === undefined }, (session) =>
        untilUndisturbed(async () => {
          const [{ now }, node] = await asOfNow(session, paths.now, () => session.get(pathOf(folder, id)));
          if (node === undefined) return { now, head: undefined, body: undefined };
          const body = await loadBody(session, paths, contentIn(node.data));
          return body === DISTURBED ? body : { now, head: headIn(node), body };
        }),
      ),
    page: ({ keys: folder, prefix, limit, continuation, ...question }) =>
      ask(question, async (session) => {
        const page = await pageOf(session, paths.now, folder, { prefix, limit, continuation });
        return { now: page.now, items: await headsOf(session, folder, page.ids), continuation: page.continuation };
      }),
    all: ({ keys: folder, ...question }) =>
      ask(question, async (session) => {
        const [{ now }, ids] = await asOfNow(session, paths.now, () => namesIn(session, folder.path));
        const heads = await headsOf(session, folder, ids);
        return { now, found: new Map(heads.map(({ id, ...head }) => [id, head])) };
      }),
    remove: ({ id, keys: folder, ifMatch, ...question }) =>
      ask({ ...question, isNothing: (wasThere) => !wasThere }, async (session) => {
        const path = pathOf(folder, id);
        const [, node] = await asOfNow(session, paths.now, () => session.get(path));
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
  readonly session: Session;
  readonly paths: Paths;
  readonly path: string;
}

/** `inline` is undefined if the body is to stay. */
type NewContent = Pick<Content, 'metadata' | 'parts'> & { readonly inline: Buffer | undefined };

async function storedContent(place: EntryNode, metadata: Metadata, body: string | undefined): Promise<NewContent> {
  if (body === undefined) return { metadata, parts: undefined, inline: undefined };
  return { metadata, ...(await storeBody(place.session, place.paths, place.path, body)) };
}

function putContent(
  place: EntryNode,
  folders: readonly string[],
  condition: Condition,
  content: NewContent,
): Promise<ETag | undefined> {
  const { session, paths, path } = place;
  const create = () => createEntry(place, folders, content);
  return untilUndisturbed(async () => {
    if (condition === 'absent') return create();
    const [, node] = await asOfNow(session, paths.now, () => session.get(path));
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

function isNothing(etag: ETag | undefined): boolean {
  return etag === undefined;
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
  session: Session,
  nowPath: string,
  { path, isDivided }: Folder,
  { prefix = '', limit, continuation = '' }: PageOf,
): Promise<{ readonly now: EpochMs; readonly ids: readonly string[]; readonly continuation: string | undefined }> {
  const [{ now }, names = []] = await asOfNow(session, nowPath, () => session.children(path));
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
