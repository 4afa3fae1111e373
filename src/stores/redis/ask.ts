import { StoreUnavailableError } from '../../lease/store';
import { type Call, metered, type Service } from '../metered';
import type { Send, WithConnection } from './connections';
import { codeOf } from './errors';
import type { Script } from './scripts';
import type { RedisServer } from './settings';

interface ScriptCall extends Call<unknown> {
  readonly script: Script;
  /** Beside the layout's. */
  readonly keys: readonly string[];
  readonly args?: readonly (string | number)[];
}

/** Sends one script and returns its answer. Undefined: it was 0, because a condition did not hold. */
export type Ask = (question: ScriptCall) => Promise<unknown>;

export interface Server extends Service {
  readonly connection: WithConnection;
  /** The key of the layout. */
  readonly layout: string;
  readonly wait: RedisServer['wait'];
}

export function asker(server: Server): Ask {
  return ({ script, keys, args = [], ...question }) =>
    metered(server, question, (signal) =>
      server.connection(signal, async (send) => {
        const answer = await evaluate(send, server, script, [keys.length + 1, server.layout, ...keys, ...args]);
        return answer === 0 ? undefined : answer;
      }),
    );
}

/**
 * The server knows a script by its digest once it has read it. It forgets all of them at a restart, and the answer then
 * is that it has carried out nothing.
 */
async function evaluate(
  send: Send,
  { wait }: Server,
  { sha, text, writes }: Script,
  args: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await confirmed(send, writes ? wait : undefined, () => send('EVALSHA', sha, ...args));
  } catch (error) {
    if (codeOf(error) !== 'NOSCRIPT') throw error;
    return confirmed(send, writes ? wait : undefined, () => send('EVAL', text, ...args));
  }
}

/** WAIT counts the replicas that have all that this connection has written. */
async function confirmed(send: Send, wait: Server['wait'], call: () => Promise<unknown>): Promise<unknown> {
  if (wait === undefined) return call();
  const [answer, replicas] = await Promise.all([call(), send('WAIT', wait.replicas, wait.ms)]);
  if (Number(replicas) >= wait.replicas) return answer;
  throw new StoreUnavailableError(
    `${String(replicas)} of ${String(wait.replicas)} replicas have confirmed a write within ${String(wait.ms)} ms ` +
      '(waitReplicas and waitMs of the URL). The primary has carried it out, and a failover may lose it.',
  );
}
