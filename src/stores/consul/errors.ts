import type { CallResult } from '../../core/storage-call';
import { type Denial, StoreDeniedError, StoreError, StoreUnavailableError } from '../../lease/store';
import { causeOf, noContainer, NoContainerError } from '../client-error';

/** An agent has answered that it has not done what it was asked. */
export class ConsulError extends Error {
  override readonly name = 'ConsulError';

  constructor(
    readonly status: number,
    said: string,
  ) {
    super(`HTTP ${String(status)}: ${said}`);
  }
}

/** Whether the agent cannot answer for its cluster, or is none. */
export function isAgentAtFault(error: unknown): boolean {
  return error instanceof ConsulError ? error.status >= 500 || error.status === 404 : true;
}

export function failure(error: unknown, where: string): StoreError {
  if (error instanceof StoreError) return error;
  const cause = causeOf(error);
  const said = `${where}: ${cause.message}`;
  const why = denialOf(error);
  if (why !== undefined) return new StoreDeniedError(`${said}. ${REMEDY[why]}`, { cause, why });
  if (error instanceof NoContainerError) {
    // The key of the layout may also be hidden: Consul does not say which.
    return noContainer(said, cause, ' Check also whether the token may read it.');
  }
  return new StoreUnavailableError(`${said}. ${remedyOf(error)}`, { cause });
}

export function resultOf(error: unknown): CallResult {
  if (error instanceof NoContainerError) return 'error';
  if (!(error instanceof ConsulError)) return 'noAnswer';
  if (denialOf(error) !== undefined) return 'denied';
  return error.status === 429 ? 'throttled' : 'error';
}

const REMEDY = {
  credentials: 'The cluster does not know this token. Check it.',
  role: 'Grant this token a policy that may write the keys of the container, its node and sessions on that.',
} as const satisfies Partial<Record<Denial, string>>;

function denialOf(error: unknown): keyof typeof REMEDY | undefined {
  if (!(error instanceof ConsulError)) return undefined;
  if (/ACL not found/.test(error.message) || error.status === 401) return 'credentials';
  return error.status === 403 || /Permission denied/.test(error.message) ? 'role' : undefined;
}

function remedyOf(error: unknown): string {
  if (!(error instanceof ConsulError)) {
    return 'Check whether this machine can reach the agents, and whether both use TLS or neither does.';
  }
  if (/Missing node registration/.test(error.message)) {
    return 'The node of the container was removed from the catalog. Restart an app, which registers it again.';
  }
  if (error.status === 413) return 'Leave txn_max_req_len and kv_max_value_size of the agents at 512 KB or more.';
  if (error.status === 404) return 'Use Consul 1.8 or later, and the HTTP port of an agent.';
  return 'The call may or may not have taken effect.';
}
