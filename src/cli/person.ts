import { userInfo } from 'node:os';

/** The name of the person who runs the command. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user may have no name.
    return 'unknown';
  }
}
