import { StoreError } from '../../../src/lease/store';

/** Errors of a wrong program. The coordinator logs some of them and continues. */
const MISTAKES = /\b(TypeError|ReferenceError|RangeError|SyntaxError): /;

/**
 * The kind of violation for an error of a tick, an attempt or a command. `crashed`: the source itself is wrong, so the
 * error does not show that a rule failed.
 */
export function kindOfThrown(error: unknown): 'threw' | 'crashed' {
  return error instanceof StoreError ? 'threw' : 'crashed';
}

/** The part of a log message that shows a crash of the source. */
export function mistakeIn(message: readonly unknown[]): string | undefined {
  return message.map(String).find((part) => MISTAKES.test(part));
}
