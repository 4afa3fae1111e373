import { faultsOf } from '../client-error';

/** An answer of etcd that it has not done what it was asked. */
export class EtcdError extends Error {
  override readonly name = 'EtcdError';

  constructor(
    readonly status: number,
    /** Of gRPC; undefined: the answer is none of etcd's. */
    readonly code: number | undefined,
    said: string,
  ) {
    super(`HTTP ${String(status)}: ${said}`);
  }
}

/** https://grpc.io/docs/guides/status-codes/ */
const EXHAUSTED = 8;
const UNAUTHENTICATED = 16;
const PERMISSION_DENIED = 7;

/** Whether the token has ended. Nothing was carried out. */
export function isTokenOver(error: unknown): boolean {
  return error instanceof EtcdError && /invalid auth token|revision of auth store is old/.test(error.message);
}

/** Whether the member cannot answer for its cluster, or is none. */
export function isMemberAtFault(error: unknown): boolean {
  return error instanceof EtcdError ? error.status >= 500 || error.code === undefined : true;
}

export const FAULTS = faultsOf<'credentials' | 'role'>({
  isAnswer: (error) => error instanceof EtcdError,
  denialOf(error, message) {
    const { code, status } = error as EtcdError;
    if (code === PERMISSION_DENIED) return 'role';
    const isRefused = /user name is empty|authentication failed|authentication is not enabled/.test(message);
    return isRefused || code === UNAUTHENTICATED || status === 401 ? 'credentials' : undefined;
  },
  isThrottled: (error) => error instanceof EtcdError && (error.code === EXHAUSTED || error.status === 429),
  remedies: {
    unreachable: 'Check whether this machine can reach the members, and whether both use TLS or neither does.',
    credentials: 'The cluster does not accept this user or password. Check both.',
    role: 'Grant this user a role that may read and write the prefix of the container.',
  },
  remedyOf(error, message) {
    const { code, status } = error as EtcdError;
    if (code === undefined && status === 404) {
      return 'Use etcd 3.4 or later, with its gateway (enable-grpc-gateway, on by default).';
    }
    if (!/database space exceeded/.test(message)) return undefined;
    return (
      'The database of the cluster is full: compact it, defragment each member, then run "etcdctl alarm disarm". Set ' +
      'auto-compaction-retention.'
    );
  },
});
