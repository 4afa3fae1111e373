import type { EpochMs } from '../../core/brand';
import { type Call, metered, type Service } from '../metered';
import type { WithSession } from './connections';
import { CODE, failure, NoContainerError, resultOf, ZooKeeperError } from './errors';
import { timeOf } from './now';
import { NO_VERSION } from './protocol';
import type { Session } from './session';

/** Makes one call of the port, of one or several requests, in the time of one. */
export type Ask = <T>(question: Call<T>, use: (session: Session) => Promise<T>) => Promise<T>;

export interface Server extends Service {
  readonly withSession: WithSession;
}

export function asker(server: Server): Ask {
  return (question, use) =>
    metered({ ...server, failure, resultOf }, question, (signal) => server.withSession(signal, use));
}

/** The instant as of which reads were made. */
export interface Instant {
  readonly now: EpochMs;
  /** The number of the last transaction before it. */
  readonly by: bigint;
}

/**
 * Reads of ZooKeeper have no time, and a server may lag behind its leader. Each read therefore follows a write on the
 * same session: the write has the leader's time, and the server has carried out everything that came before it.
 *
 * @param read is called before the write is answered; its requests are carried out after it
 * @throws NoContainerError
 */
export async function asOfNow<T>(
  session: Session,
  nowPath: string,
  read: () => Promise<T>,
): Promise<readonly [Instant, T]> {
  const [written, found] = await Promise.all([
    session.multi([{ kind: 'set', path: nowPath, data: Buffer.alloc(0), version: NO_VERSION }]),
    read(),
  ]);
  if (written.kind === 'refused') {
    throw written.code === CODE.noNode ? new NoContainerError() : new ZooKeeperError(written.code);
  }
  const [stat] = written.stats;
  if (stat === undefined) throw new ZooKeeperError(-2);
  return [{ now: timeOf(stat), by: written.by }, found];
}

/** After so many lost races with others that write the same node, something else is wrong. */
const TRIES = 50;

/** Another writer has written meanwhile what a step has read. */
export const DISTURBED = Symbol('disturbed');

/** Repeats a step that reads and then writes what it has read, until there was no other write in between. */
export async function untilUndisturbed<T>(step: () => Promise<T | typeof DISTURBED>): Promise<T> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answer = await step();
    if (answer !== DISTURBED) return answer;
  }
  throw new ZooKeeperError(CODE.badVersion);
}
