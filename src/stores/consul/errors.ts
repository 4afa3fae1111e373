import { faultsOf } from '../client-error';

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

export const FAULTS = faultsOf<'credentials' | 'role'>({
  isAnswer: (error) => error instanceof ConsulError,
  denialOf(error, message) {
    const { status } = error as ConsulError;
    if (/ACL not found/.test(message) || status === 401) return 'credentials';
    return status === 403 || /Permission denied/.test(message) ? 'role' : undefined;
  },
  isThrottled: (error) => error instanceof ConsulError && error.status === 429,
  remedies: {
    unreachable: 'Check whether this machine can reach the agents, and whether both use TLS or neither does.',
    // The key of the layout may also be hidden: Consul does not say which.
    noContainer: ' Check also whether the token may read it.',
    credentials: 'The cluster does not know this token. Check it.',
    role: 'Grant this token a policy that may write the keys of the container, its node and sessions on that.',
  },
  remedyOf(error, message) {
    if (/Missing node registration/.test(message)) {
      return 'The node of the container was removed from the catalog. Restart an app, which registers it again.';
    }
    const { status } = error as ConsulError;
    if (status === 413) return 'Leave txn_max_req_len and kv_max_value_size of the agents at 512 KB or more.';
    if (status === 404) return 'Use Consul 1.8 or later, and the HTTP port of an agent.';
    return undefined;
  },
});
