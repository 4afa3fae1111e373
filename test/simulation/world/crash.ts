import { StoreError } from '../../../src/lease/store';

/** Errors that a program throws because it is wrong in itself. The coordinator logs some of them and continues. */
const MISTAKES = /\b(TypeError|ReferenceError|RangeError|SyntaxError): /;

/**
 * The kind of violation that an error is which a tick, an attempt or a command throws: `crashed` where the source is
 * wrong in itself, so that no rule of it was seen to fail.
 */
export function kindOfThrown(error: unknown): 'threw' | 'crashed' {
  return error instanceof StoreError ? 'threw' : 'crashed';
}

/** What shows that the source has crashed, among the parts of a log message. */
export function mistakeIn(message: readonly unknown[]): string | undefined {
  return message.map(String).find((part) => MISTAKES.test(part));
}
