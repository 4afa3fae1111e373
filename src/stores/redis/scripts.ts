import { createHash } from 'node:crypto';
import { NOW } from './now';

/** A script in Lua. The server carries out all of it before anything else, or nothing. */
export interface Script {
  readonly text: string;
  readonly sha: string;
  /** Whether it may write. */
  readonly writes: boolean;
}

/** The error of a script where the layout is missing. */
export const NO_CONTAINER = 'NOCONTAINER';

const INDEX = `local function page(keys, from, to, count)
  return redis.call('ZRANGEBYLEX', keys, from, to, 'LIMIT', 0, count)
end`;

/**
 * A script of which the first key is the layout's. Its first line makes it one that a read-only replica refuses whole:
 * without it, a replica would answer reads with what it has, and that may be old.
 *
 * @param kind `read`; `write`; or `shrink`, which writes and needs no memory, so that a full server carries it out
 */
export function script(kind: 'read' | 'write' | 'shrink', lua: string): Script {
  return whole(
    kind,
    `if redis.call('EXISTS', KEYS[1]) == 0 then return redis.error_reply('${NO_CONTAINER} the layout is missing') end
${lua}`,
  );
}

/** A script that needs no layout. */
export function whole(kind: 'read' | 'write' | 'shrink', lua: string): Script {
  const text = `#!lua${kind === 'write' ? '' : ' flags=allow-oom'}
local now = ${NOW}
${INDEX}
${lua.trim()}
`;
  return { text, sha: createHash('sha1').update(text).digest('hex'), writes: kind !== 'read' };
}
