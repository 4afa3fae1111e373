import type { CallResult } from '../../core/storage-call';
import { type Denial, StoreDeniedError, StoreError, StoreUnavailableError } from '../../lease/store';
import { causeOf, noContainer, NoContainerError } from '../client-error';

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

export function failure(error: unknown, where: string): StoreError {
  if (error instanceof StoreError) return error;
  const cause = causeOf(error);
  const said = `${where}: ${cause.message}`;
  const why = denialOf(error);
  if (why !== undefined) return new StoreDeniedError(`${said}. ${REMEDY[why]}`, { cause, why });
  if (error instanceof NoContainerError) return noContainer(said, cause);
  return new StoreUnavailableError(`${said}. ${remedyOf(error)}`, { cause });
}

export function resultOf(error: unknown): CallResult {
  if (error instanceof NoContainerError) return 'error';
  if (!(error instanceof EtcdError)) return 'noAnswer';
  if (denialOf(error) !== undefined) return 'denied';
  return error.code === EXHAUSTED || error.status === 429 ? 'throttled' : 'error';
}

const REMEDY = {
  credentials: 'The cluster does not accept this user or password. Check both.',
  role: 'Grant this user a role that may read and write the prefix of the container.',
} as const satisfies Partial<Record<Denial, string>>;

function denialOf(error: unknown): keyof typeof REMEDY | undefined {
  if (!(error instanceof EtcdError)) return undefined;
  if (error.code === PERMISSION_DENIED) return 'role';
  const isRefused = /user name is empty|authentication failed|authentication is not enabled/.test(error.message);
  return isRefused || error.code === UNAUTHENTICATED || error.status === 401 ? 'credentials' : undefined;
}

function remedyOf(error: unknown): string {
  if (!(error instanceof EtcdError)) {
    return 'Check whether this machine can reach the members, and whether both use TLS or neither does.';
  }
  if (error.code === undefined && error.status === 404) {
    return 'Use etcd 3.4 or later, with its gateway (enable-grpc-gateway, on by default).';
  }
  if (/database space exceeded/.test(error.message)) {
    return (
      'The database of the cluster is full: compact it, defragment each member, then run "etcdctl alarm disarm". Set ' +
      'auto-compaction-retention.'
    );
  }
  return 'The call may or may not have taken effect.';
}
