import type { CallResult } from '../../core/storage-call';
import { type Denial, StoreDeniedError, StoreError, StoreUnavailableError } from '../../lease/store';
import { NO_CONTAINER } from './scripts';
import { causeOf, isTokenRefused, noContainer } from '../client-error';

/** The first word of an error that the server has answered; undefined: this is none. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.name !== 'ReplyError') return undefined;
  return /^[A-Z]+/.exec(error.message)?.[0] ?? 'ERR';
}

export function failure(error: unknown, where: string): StoreError {
  if (error instanceof StoreError) return error;
  const cause = causeOf(error);
  const code = codeOf(error);
  if (code === undefined) {
    if (isTokenRefused(error)) {
      const said = `${where}: no token is available: ${cause.message}`;
      return new StoreDeniedError(`${said}. ${REMEDY.noToken}`, { cause, why: 'noToken' });
    }
    const remedy = 'Check whether this machine can reach the server, and whether both use TLS or neither does.';
    return new StoreUnavailableError(`${where}: ${cause.message}. ${remedy}`, { cause });
  }
  const said = `${where}: ${cause.message}`;
  const why = denialOf(code, cause.message);
  if (why !== undefined) return new StoreDeniedError(`${said}. ${REMEDY[why]}`, { cause, why });
  if (code === NO_CONTAINER) return noContainer(said, cause);
  return new StoreUnavailableError(`${said}. ${remedyOf(code, cause.message)}`, { cause });
}

function remedyOf(code: string, message: string): string {
  // The first line of each script is one that older servers cannot read.
  if (message.includes('Error compiling script')) return 'Use Redis 7 or later, or Valkey.';
  return REMEDIES[code] ?? 'The call may or may not have taken effect.';
}

export function resultOf(error: unknown): CallResult {
  const code = codeOf(error);
  if (code === undefined) return 'noAnswer';
  if (denialOf(code, String(error)) !== undefined) return 'denied';
  return code === 'OOM' || code === 'BUSY' ? 'throttled' : 'error';
}

const REMEDY = {
  noToken:
    'Give the app a managed identity; a person names a URL with a password, without CRONLEASE_STORAGE__credential.',
  credentials: 'The server does not accept this user or password. Check both.',
  role: 'Grant this user the commands and keys that docs/reference/stores.md names.',
  network: 'The server refuses this network. Check its firewall and its protected-mode.',
} as const satisfies Record<Denial, string>;

function denialOf(code: string, message: string): Denial | undefined {
  switch (code) {
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
