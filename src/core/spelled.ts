import type { Span } from './redact';

/** Characters that nothing escapes. */
const PLAIN = /^[\w.~-]$/;
/**
 * Escapes beside those by number: of JSON, in which a text of JSON in another has more backslashes; of forms; of HTML.
 * With any number of backslashes, the search in many of them would take quadratic time.
 */
const SHORT: Readonly<Partial<Record<string, string>>> = {
  '/': String.raw`\\{1,8}/`,
  '"': String.raw`\\{1,8}"|&quot;`,
  "'": String.raw`\\{1,8}'|&apos;`,
  '\n': String.raw`\\{1,8}n`,
  '\r': String.raw`\\{1,8}r`,
  '\t': String.raw`\\{1,8}t`,
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  ' ': String.raw`\+`,
};

/**
 * Finds a secret in texts, even if JSON, an address or HTML has escaped some of its characters: each writer escapes
 * others, such as PHP the slashes of JSON, and .NET its plus signs.
 *
 * @param flags `i`: upper and lower case are the same
 */
export function spelledFinder(secret: string, flags: 'i' | '' = ''): (text: string) => readonly Span[] {
  const characters = secret.match(/\\+|[^\\]/gu) ?? [];
  const pattern = new RegExp(characters.map(spelled).join(''), `gu${flags}`);
  return (text) => {
    const places: Span[] = [];
    pattern.lastIndex = 0;
    for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
      const { index, 0: match } = found;
      places.push({ start: index, end: index + match.length });
      // Places may overlap. From the middle of a surrogate pair, the search would go back to its beginning.
      pattern.lastIndex = index + ((text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1);
    }
    return places;
  };
}

/** A pattern for a character, or for several backslashes: one by one, their escapes could be read in too many ways. */
function spelled(text: string): string {
  const { length } = text;
  if (text.startsWith('\\')) {
    return String.raw`(?:\\(?:u005[cC])?|%(?:25)*5[cC]|&#(?:[xX]5[cC]|92);){${length},${8 * length}}`;
  }
  const code = text.codePointAt(0) ?? 0;
  const literal = `\\u{${code.toString(16)}}`;
  if (PLAIN.test(text)) return literal;
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => `%(?:25)*${hex(byte, 2)}`);
  const units = Array.from({ length }, (_, at) => String.raw`\\{1,8}u${hex(text.charCodeAt(at), 4)}`);
  const byNumber = [bytes.join(''), units.join(''), `&#[xX]0*${hex(code, 1)};`, `&#0*${code};`];
  const short = SHORT[text];
  return `(?:${[literal, ...byNumber, ...(short === undefined ? [] : [short])].join('|')})`;
}

/** A pattern for a number in either case. */
function hex(number: number, digits: number): string {
  const text = number.toString(16).padStart(digits, '0');
  return text.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}
