/**
 * The beginning of a text, with a mark where it is cut. Error messages have contained whole listings and web pages.
 *
 * @param most UTF-16 units. Default: as of a foreign text, or of an event's reason
 */
export function brief(text: string, most = 300): string {
  if (text.length <= most) return text;
  // Half of a surrogate pair is not a character.
  return `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/**
 * Characters that change how a terminal shows the text around them, or that are invisible: control characters, marks of
 * direction, other line ends, those without a width. The one that only chooses the coloured form of an emoji is kept.
 */
const UNSEEN = /(?!\ufe0f)[\p{Cc}\p{Cf}\p{DI}\u2028\u2029]/gu;

/** The text with such characters as escapes, except for line ends and tabs. */
export function printable(text: string): string {
  return text.replace(UNSEEN, (char) => (char === '\n' || char === '\t' ? char : escapeOf(char)));
}

/** As {@link printable}, on one line. */
export function oneLine(text: string): string {
  return text.replace(UNSEEN, escapeOf);
}

/** JSON that is safe on a terminal: it also escapes the characters that JSON itself allows. */
export function printableJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent);
  return text.replace(UNSEEN, (char) => (char === '\n' ? char : escapeOf(char)));
}

function escapeOf(char: string): string {
  if (char === '\n') return '\\n';
  // JSON has escapes of only code units, and these characters may take two.
  const units = Array.from({ length: char.length }, (_, index) => char.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** `1 job`, `3 jobs`. */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** An order for names, which are ASCII. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
