import { type Call, metered, type Service } from '../metered';
import { isRolledBack } from './errors';

type Value = string | number | boolean | Buffer | null;
export type Fields = Readonly<Record<string, unknown>>;

/** Sends one statement on a connection that is not shared meanwhile. */
export interface Session {
  query(sql: string, values?: readonly Value[]): Promise<readonly Fields[]>;
}

/** Lends a session to `use`. Once `signal` is aborted, the session's connection is closed, whatever it waits for. */
export type WithSession = <T>(signal: AbortSignal, use: (session: Session) => Promise<T>) => Promise<T>;

/** No rows mean that a condition of the call did not hold, or that nothing was found, unless it says otherwise. */
interface Statement extends Call<readonly Fields[]> {
  readonly sql: string;
  readonly values?: readonly Value[];
}

/** Sends one statement, which is one transaction, and returns its rows. */
export type Ask = (question: Statement) => Promise<readonly Fields[]>;

export interface Server extends Service {
  readonly sessions: WithSession;
}

export function asker(server: Server): Ask {
  return ({ sql, values, ...question }) => call(server, question, (session) => session.query(sql, values));
}

/** Makes a call of one statement or more, in the time of one. */
export function call(
  server: Server,
  question: Call<readonly Fields[]>,
  use: (session: Session) => Promise<readonly Fields[]>,
): Promise<readonly Fields[]> {
  return metered(server, { isNothing: (rows) => rows.length === 0, ...question }, (signal) =>
    server.sessions(signal, (session) => use(repeating(session))),
  );
}

/** How often a statement is sent at most. Each time, another transaction has gone through. */
const TRIES = 20;

/**
 * Sends a statement again that the server has rolled back for another transaction's sake: then it finds what the other
 * has done, and a race that was lost is lost. Transactions are serializable where the database's default says so. No
 * session sets its own default, because poolers refuse or forget it.
 */
function repeating(session: Session): Session {
  return {
    async query(sql, values) {
      for (let tries = 1; ; tries += 1) {
        try {
          return await session.query(sql, values);
        } catch (error) {
          if (!isRolledBack(error) || tries >= TRIES) throw error;
        }
      }
    },
  };
}
