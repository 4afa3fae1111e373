import type { EpochMs } from '../../core/brand';
import { byText } from '../../core/text';
import { asOfNow } from './ask';
import type { PageOf } from '../port';
import { type Folder, mayHold, unescaped } from './paths';
import type { Session } from './session';

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
