import type { CallResult } from '../../core/storage-call';
import { type Denial, StoreDeniedError, StoreError, StoreUnavailableError } from '../../lease/store';
import { causeOf, noContainer } from '../client-error';

/** ZooKeeper's codes that an adapter must tell apart. */
export const CODE = { noNode: -101, noAuth: -102, badVersion: -103, nodeExists: -110, notEmpty: -111 } as const;

const NAMES: Readonly<Record<number, string>> = {
  [-1]: 'SYSTEMERROR',
  [-2]: 'RUNTIMEINCONSISTENCY',
  [-4]: 'CONNECTIONLOSS',
  [-5]: 'MARSHALLINGERROR',
  [-6]: 'UNIMPLEMENTED',
  [-7]: 'OPERATIONTIMEOUT',
  [-8]: 'BADARGUMENTS',
  [-101]: 'NONODE',
  [-102]: 'NOAUTH',
  [-103]: 'BADVERSION',
  [-110]: 'NODEEXISTS',
  [-111]: 'NOTEMPTY',
  [-112]: 'SESSIONEXPIRED',
  [-114]: 'INVALIDACL',
  [-115]: 'AUTHFAILED',
  [-118]: 'SESSIONMOVED',
  [-119]: 'NOTREADONLY',
  [-122]: 'REQUESTTIMEOUT',
  [-124]: 'SESSIONCLOSEDREQUIRESASLAUTH',
  [-125]: 'QUOTAEXCEEDED',
  [-127]: 'THROTTLEDOP',
};

/** The ensemble has answered a request with an error. */
export class ZooKeeperError extends Error {
  override readonly name = 'ZooKeeperError';
  constructor(readonly code: number) {
    super(`ZooKeeper has answered ${NAMES[code] ?? `error ${String(code)}`}`);
  }
}

/** The container was not made, or was removed. */
export class NoContainerError extends Error {
  override readonly name = 'NoContainerError';
  constructor() {
    super('there is no node for it');
  }
}

export function failure(error: unknown, where: string): StoreError {
  if (error instanceof StoreError) return error;
  const cause = causeOf(error);
  const said = `${where}: ${cause.message}`;
  if (error instanceof NoContainerError) return noContainer(said, cause);
  if (!(error instanceof ZooKeeperError)) {
    const remedy = 'Check whether this machine can reach the servers, and whether both use TLS or neither does.';
    return new StoreUnavailableError(`${said}. ${remedy}`, { cause });
  }
  const why = denialOf(error.code);
  if (why !== undefined) return new StoreDeniedError(`${said}. ${REMEDY[why]}`, { cause, why });
  const remedy = REMEDIES[error.code] ?? 'The call may or may not have taken effect.';
  return new StoreUnavailableError(`${said}. ${remedy}`, { cause });
}

export function resultOf(error: unknown): CallResult {
  if (error instanceof NoContainerError) return 'error';
  if (!(error instanceof ZooKeeperError)) return 'noAnswer';
  if (denialOf(error.code) !== undefined) return 'denied';
  return error.code === -127 ? 'throttled' : 'error';
}

function denialOf(code: number): 'credentials' | 'role' | undefined {
  switch (code) {
    case CODE.noAuth:
      return 'role';
    case -115:
    case -124:
      return 'credentials';
    default:
      return undefined;
  }
}

const REMEDY = {
  role: 'The nodes belong to another user: check the user and password of the URL, which must be those of their creator.',
  credentials: 'The servers do not accept this user or password. Check both.',
} as const satisfies Partial<Record<Denial, string>>;

/** Errors that have their own remedy. */
const REMEDIES: Readonly<Record<number, string>> = {
  [-119]: 'This server has lost its leader, and takes no writes: look at the ensemble.',
  [-125]: 'The chroot has a quota: raise it.',
  [-127]: 'The server has more requests than it can carry out.',
};
