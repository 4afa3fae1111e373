import { OperatorError } from '../operator-error';

/** The most characters of a note, and of a person's name. */
export const NOTE_LENGTH = 200;

/**
 * Refuses a note or a name that is too long.
 *
 * @throws OperatorError `NoteTooLong`
 */
export function checkNote({ by, note }: { readonly by: string; readonly note: string }): void {
  for (const [what, text] of [
    ['note', note],
    ['name of the person', by],
  ] as const) {
    if (text.length <= NOTE_LENGTH) continue;
    throw new OperatorError(
      'NoteTooLong',
      `the ${what} has ${text.length} characters, and ${NOTE_LENGTH} are allowed: shorten it`,
    );
  }
}
