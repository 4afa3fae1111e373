import { faultsOf, NoContainerError } from '../client-error';

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
export class NoNodeError extends NoContainerError {
  constructor() {
    super('there is no node for it');
  }
}

/** What a request has failed with where every node of the container was to be there. */
export function refusalOf(code: number): Error {
  return code === CODE.noNode ? new NoNodeError() : new ZooKeeperError(code);
}

/** Errors that have their own remedy. */
const REMEDIES: Readonly<Record<number, string>> = {
  [-119]: 'This server has lost its leader, and takes no writes: look at the ensemble.',
  [-125]: 'The chroot has a quota: raise it.',
  [-127]: 'The server has more requests than it can carry out.',
};

export const FAULTS = faultsOf<'credentials' | 'role'>({
  isAnswer: (error) => error instanceof ZooKeeperError,
  denialOf(error) {
    const { code } = error as ZooKeeperError;
    if (code === CODE.noAuth) return 'role';
    return code === -115 || code === -124 ? 'credentials' : undefined;
  },
  isThrottled: (error) => error instanceof ZooKeeperError && error.code === -127,
  remedies: {
    unreachable: 'Check whether this machine can reach the servers, and whether both use TLS or neither does.',
    role: 'The nodes belong to another user: check the user and password of the URL, which must be those of their creator.',
    credentials: 'The servers do not accept this user or password. Check both.',
  },
  remedyOf: (error) => REMEDIES[(error as ZooKeeperError).code],
});
