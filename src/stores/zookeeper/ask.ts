import type { EpochMs } from '../../core/brand';
import { undisturbedWithin } from '../lease-automaton';
import { type Call, metered, type Service } from '../metered';
import type { WithSession } from './connections';
import { CODE, refusalOf, ZooKeeperError } from './errors';
import { NO_VERSION } from './protocol';
import type { Session } from './session';

/** The requests of one call. */
export interface Calls extends Session {
  /**
   * Reads of ZooKeeper have no time, and a server may lag behind its leader. Each read therefore follows a write on the
   * same session: the write has the leader's time, and the server has carried out everything that came before it.
   *
   * @param read is called before the write is answered; its requests are carried out after it
   * @throws NoNodeError
   */
  asOfNow<T>(read: () => Promise<T>): Promise<readonly [Instant, T]>;
}

/** Makes one call of the port, of one or several requests, in the time of one. */
export type Ask = <T>(question: Call<T>, use: (session: Calls) => Promise<T>) => Promise<T>;

export interface Server extends Service {
  readonly withSession: WithSession;
  /** The node that is written to learn the time. */
  readonly now: string;
}

export function asker(server: Server): Ask {
  return (question, use) =>
    metered(server, question, (signal) =>
      server.withSession(signal, (session) =>
        use({ ...session, asOfNow: (read) => asOfNow(session, server.now, read) }),
      ),
    );
}

/** The instant as of which reads were made. */
export interface Instant {
  readonly now: EpochMs;
  /** The number of the last transaction before it. */
  readonly by: bigint;
}

async function asOfNow<T>(session: Session, nowPath: string, read: () => Promise<T>): Promise<readonly [Instant, T]> {
  const [written, found] = await Promise.all([
    session.multi([{ kind: 'set', path: nowPath, data: Buffer.alloc(0), version: NO_VERSION }]),
    read(),
  ]);
  if (written.kind === 'refused') throw refusalOf(written.code);
  const [stat] = written.stats;
  if (stat === undefined) throw new ZooKeeperError(-2);
  return [{ now: stat.writtenMs, by: written.by }, found];
}

export const untilUndisturbed = undisturbedWithin(50, () => new ZooKeeperError(CODE.badVersion));
