import { faultsOf } from '../client-error';

/** The SQLSTATE of an answer of the server; undefined: this is none. */
export function stateOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as Error) ? code : undefined;
}

/**
 * SQLSTATE codes and classes that have their own remedy.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const MISSING = ['42P01', '3F000'];
export const NO_RIGHT = '42501';
/** A serialization failure, and a deadlock. */
const ROLLED_BACK = ['40001', '40P01'];
const TOO_MANY_CONNECTIONS = '53300';
/** A write in a read-only transaction. */
const READ_ONLY = '25006';

/** Whether the server has undone the statement because of another one, and the same statement may now succeed. */
export function isRolledBack(error: unknown): boolean {
  // A FATAL one has closed the connection.
  return isAnswer(error) && ROLLED_BACK.includes(stateOf(error) ?? '');
}

/** Whether the schema or a table is missing. */
export function isMissing(error: unknown): boolean {
  return MISSING.includes(stateOf(error) ?? '');
}

/** The server of a connection takes no writes, and was asked nothing else. */
export class ReadOnlyServerError extends Error {
  override readonly name = 'ReadOnlyServerError';
  readonly code = READ_ONLY;
  readonly severity = 'ERROR';

  constructor() {
    super('a new connection leads to a server that takes no writes');
  }
}

/**
 * Whether another server may be the primary by now, or the connection cannot be used any more: there was no answer, a
 * FATAL one, or the server is read only, shuts down, starts, or is out of reach of the pooler.
 */
export function mayBeElsewhere(error: unknown): boolean {
  return !isAnswer(error) || /^(25006|57P0[123]|08...)$/.test(stateOf(error) ?? '');
}

/** Whether the error answers the statement. After a FATAL one, such as at a shutdown, the server closes the connection. */
function isAnswer(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && error.severity === 'ERROR';
}

/** The error of a missing table is that of a missing schema. A new table would contradict what the others hold. */
const TABLE_MISSING =
  ' If only one of its tables was dropped, no app creates it again: stop all apps, and restore the table from a backup.';

function remedyOf(state: string): string | undefined {
  if (state === '3D000') return 'Create the database, or check its name.';
  if (state === READ_ONLY) {
    return 'This server is a replica, or read only for another reason, such as a full disk: connect to the primary.';
  }
  if (state === TOO_MANY_CONNECTIONS) {
    return 'Raise max_connections or put a pooler such as PgBouncer before the server.';
  }
  if (state === '53100') return 'The disk of the server is full: enlarge it.';
  if (ROLLED_BACK.includes(state)) {
    return 'Other transactions interfered at each of several tries. The call has not taken effect.';
  }
  return undefined;
}

export const FAULTS = faultsOf<'credentials' | 'role'>({
  isAnswer: (error) => stateOf(error) !== undefined,
  denialOf(error) {
    const state = stateOf(error) ?? '';
    if (state === NO_RIGHT) return 'role';
    // Class 28: invalid authorization specification.
    return state.startsWith('28') ? 'credentials' : undefined;
  },
  isNoContainer: isMissing,
  isThrottled: (error) => stateOf(error) === TOO_MANY_CONNECTIONS,
  remedies: {
    unreachable: 'Check whether this machine can reach the server, and whether the server accepts its TLS settings.',
    noContainer: TABLE_MISSING,
    credentials: 'The server does not accept this user or password. Check both, and pg_hba.conf on the server.',
    role: 'Grant this role usage on the schema, and select, insert, update and delete on its tables.',
  },
  remedyOf: (error) => remedyOf(stateOf(error) ?? ''),
  prefixOf: (error) => (stateOf(error) === undefined ? '' : `${String(stateOf(error))} `),
});
