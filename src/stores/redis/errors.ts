import { faultsOf } from '../client-error';
import { NO_CONTAINER } from './scripts';

/** The first word of an error that the server has answered; undefined: this is none. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return undefined;
  return /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR';
}

/** Errors that have their own remedy. */
const REMEDIES: Readonly<Record<string, string>> = {
  READONLY: 'This server is a replica, which takes no writes: connect to the primary.',
  MASTERDOWN: 'This server is a replica without its primary: connect to the primary.',
  OOM: 'The server has used its maxmemory: raise it.',
  MISCONF: 'The server cannot write its files: look at its log.',
  NOREPLICAS: 'The server waits for its replicas (min-replicas-to-write).',
  LOADING: 'The server is reading its files, and will be ready soon.',
  CLUSTERDOWN: 'The cluster has no primary for these keys: look at its nodes.',
  TRYAGAIN: 'The cluster is moving these keys to another node.',
  ASK: 'The cluster is moving these keys to another node.',
};

export const FAULTS = faultsOf<'credentials' | 'role' | 'network'>({
  isAnswer: (error) => codeOf(error) !== undefined,
  denialOf(error, message) {
    switch (codeOf(error)) {
      case 'NOPERM':
        return 'role';
      case 'WRONGPASS':
      case 'NOAUTH':
        return 'credentials';
      case 'DENIED':
        return 'network';
      default:
        // A password where the server has none.
        return /^.{0,20}AUTH .*without any password/.test(message) ? 'credentials' : undefined;
    }
  },
  isNoContainer: (error) => codeOf(error) === NO_CONTAINER,
  isThrottled: (error) => ['OOM', 'BUSY'].includes(codeOf(error) ?? ''),
  remedies: {
    unreachable: 'Check whether this machine can reach the server, and whether both use TLS or neither does.',
    credentials: 'The server does not accept this user or password. Check both.',
    role: 'Grant this user the commands and keys that docs/reference/stores.md names.',
    network: 'The server refuses this network. Check its firewall and its protected-mode.',
  },
  remedyOf(error, message) {
    // The first line of each script is one that older servers cannot read.
    if (message.includes('Error compiling script')) return 'Use Redis 7 or later, or Valkey.';
    return REMEDIES[codeOf(error) ?? ''];
  },
});
