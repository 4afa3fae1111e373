import { userInfo } from 'node:os';
import { given } from '../../core/given';
import { oneLine } from '../../core/text';
import type { LeaseStore } from '../../lease/store';
import type { Acting } from '../../operator/audit';
import { warn } from '../output';
import { deskOf, shellIdentity } from '../storage';

/** The name of the person who runs the command, as the operating system has it. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user may have no name.
    return 'unknown';
  }
}

/**
 * The person who runs the command: the identity of the token with which it calls storage, or else the user of the
 * operating system, whose name proves nothing.
 */
export async function actingOn(store: LeaseStore, note?: string): Promise<Acting> {
  const identity = await shellIdentity();
  const who =
    identity === undefined
      ? { actor: userName() }
      : { actor: oneLine(identity.name), identity: `${identity.tenant}/${identity.objectId}`.toLowerCase() };
  const unrecorded = (what: string): void => {
    warn(`${what} took place, but its record in audit/ shows only that it was begun`);
  };
  return {
    ...deskOf(store),
    origin: { ...who, channel: 'shell', ...given({ note }) },
    unrecorded,
  };
}
