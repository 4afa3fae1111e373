import type { EpochMs } from '../../core/brand';
import type { CallOptions } from '../../lease/store';
import { type Ask, asOfNow } from './ask';
import { CODE, NoContainerError, ZooKeeperError } from './errors';
import type { Paths } from './paths';
import type { Session } from './session';

/**
 * The version of the nodes. A later one must leave them usable for the release before it, because the instances of both
 * run side by side.
 */
const VERSION = '1';

/** Makes the nodes of a container, and that of the time last, by which all other calls see that it exists. */
export async function prepareLayout(ask: Ask, paths: Paths, options: CallOptions | undefined): Promise<void> {
  await ask({ what: 'create the container', kind: 'container', options }, async (session) => {
    if ((await lookForLayout(session, paths)) !== undefined) return;
    const above = paths.container.split('/').map((_, index, names) => names.slice(0, index + 1).join('/'));
    for (const path of above.slice(1, -1)) await make(session, path, '');
    await make(session, paths.container, VERSION);
    for (const path of [...paths.made, paths.now]) await make(session, path, '');
  });
}

async function make(session: Session, path: string, text: string): Promise<void> {
  // The right to create is asked for even where there is nothing to create.
  if ((await session.stat(path)) !== undefined) return;
  const answer = await session.multi([{ kind: 'create', path, data: Buffer.from(text) }]);
  if (answer.kind === 'refused' && answer.code !== CODE.nodeExists) throw new ZooKeeperError(answer.code);
}

/** The leader's time if the container exists. */
export async function lookForLayout(session: Session, paths: Paths): Promise<EpochMs | undefined> {
  try {
    const [{ now }] = await asOfNow(session, paths.now, () => Promise.resolve());
    return now;
  } catch (error) {
    if (error instanceof NoContainerError) return undefined;
    throw error;
  }
}
