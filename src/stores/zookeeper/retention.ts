import type { EpochMs } from '../../core/brand';
import type { CallOptions, Retention } from '../../lease/store';
import { type Kept, keptIn } from '../port';
import { type Ask, asOfNow } from './ask';
import { contentIn, dropBody, dropFolder } from './bodies';
import { namesIn } from './entries';
import { type Folder, type Paths, pathOf } from './paths';
import { NO_VERSION } from './protocol';
import type { Session } from './session';

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
    const [, found = []] = await asOfNow(session, paths.now, () => session.children(folder.path));
    return found.toSorted().toReversed();
  });
  let deleted = 0;
  for (const division of folder.isDivided ? names : ['']) {
    const { of, found } = await ask(question, async (session) => {
      const path = division === '' ? folder.path : `${folder.path}/${division}`;
      const [{ now }, ids] = await asOfNow(session, paths.now, () => namesIn(session, path));
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

async function purgeParts(session: Session, paths: Paths, ids: readonly string[]): Promise<void> {
  const folders = ids.map((id) => ({ id, folder: `${paths.parts}/${id}` }));
  const [{ now }, nodes] = await asOfNow(session, paths.now, () =>
    Promise.all(folders.map(({ folder }) => session.get(folder))),
  );
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
