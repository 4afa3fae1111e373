import type { ETag } from '../../core/brand';
import type { Metadata } from '../../lease/store';
import { type Condition, type Entries, type Head, etagOf } from '../port';
import { checkMetadata } from '../limits';
import { type Ask, asOfNow, DISTURBED, untilUndisturbed } from './ask';
import { type Content, contentIn, dataOf, dropBody, loadBody, storeBody } from './bodies';
import { CODE, NoContainerError } from './errors';
import { namesIn, pageOf } from './folders';
import { timeOf } from './now';
import { type Folder, foldersOf, pathOf, type Paths } from './paths';
import { type Node, NO_VERSION, type Stat } from './protocol';
import type { Session } from './session';

export function entriesIn(ask: Ask, paths: Paths): Entries<Folder> {
  return {
    async put({ id, keys: folder, condition, metadata, body, ...question }) {
      checkMetadata(metadata);
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
  let answer = await session.multi([{ kind: 'create', path, data }]);
  if (answer.kind === 'refused' && answer.code === CODE.noNode) {
    await makeFolders(session, folders);
    answer = await session.multi([{ kind: 'create', path, data }]);
  }
  if (answer.kind === 'done') return etagAt({ createdBy: answer.by, version: 0 });
  if (answer.code === CODE.nodeExists) return undefined;
  throw new NoContainerError();
}

/** @throws NoContainerError */
export async function makeFolders(session: Session, folders: readonly string[]): Promise<void> {
  for (const path of folders) {
    const answer = await session.multi([{ kind: 'create', path, data: Buffer.alloc(0) }]);
    if (answer.kind === 'refused' && answer.code !== CODE.nodeExists) throw new NoContainerError();
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
  return { etag: etagAt(stat), writtenMs: timeOf(stat), metadata: contentIn(data).metadata };
}

function isNothing(etag: ETag | undefined): boolean {
  return etag === undefined;
}

/** Versions begin again where a node is deleted and created again, so that the ETag names its creation, too. */
export function etagAt({ createdBy, version }: Pick<Stat, 'createdBy' | 'version'>): ETag {
  return etagOf(`${createdBy.toString(16)}-${version}`);
}
