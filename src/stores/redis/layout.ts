import type { CallOptions } from '../../lease/store';
import type { Ask } from './ask';
import { whole } from './scripts';

/**
 * The version of the keys. A later one must leave them usable for the release before it, because the instances of both
 * run side by side.
 */
const VERSION = 1;

const PREPARE = whole(
  'write',
  `if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SET', KEYS[1], ARGV[1]) end
return 1`,
);

const LOOK = whole('read', `return { now, redis.call('EXISTS', KEYS[1]) }`);

/** Makes the key by which all other calls see that the container exists. */
export async function prepareLayout(ask: Ask, container: string, options: CallOptions | undefined): Promise<void> {
  await ask({ what: `create ${container}`, kind: 'container', script: PREPARE, keys: [], args: [VERSION], options });
}

/** Whether the container exists, and the server's time. */
export async function lookForLayout(ask: Ask): Promise<{ readonly isThere: boolean; readonly now: number }> {
  const answer = await ask({
    what: 'look for the layout',
    kind: 'listing',
    script: LOOK,
    keys: [],
    options: undefined,
  });
  const [now, count] = answer as [number, number];
  return { isThere: count === 1, now };
}
