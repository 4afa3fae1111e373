import { userInfo } from 'node:os';
import type { Origin } from '../core/origin';
import { oneLine } from '../core/text';
import { shellIdentity } from './storage';

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
 * Who runs the command: the identity of the token with which it calls storage, or else the user of the operating system,
 * whose name proves nothing.
 */
export async function shellOrigin(note: string | undefined): Promise<Origin> {
  const identity = await shellIdentity();
  const who =
    identity === undefined
      ? { actor: userName() }
      : { actor: oneLine(identity.name), identity: `${identity.tenant}/${identity.objectId}`.toLowerCase() };
  return { ...who, channel: 'shell', ...(note === undefined ? {} : { note }) };
}
