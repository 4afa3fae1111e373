/** How much of a text that others wrote, or of an event's reason, is passed on. */
const BRIEF = 300;

/** The beginning of a text: whole listings and web pages have come back as messages of errors. */
export function brief(text: string): string {
  if (text.length <= BRIEF) return text;
  // A surrogate that has lost its other half is no character.
  return `${text.slice(0, BRIEF - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** What changes how a terminal shows what follows: control characters, marks of direction, other line ends. */
const UNSEEN = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** The text with such characters shown as escapes, but for the ends of its lines and tabs. */
export function printable(text: string): string {
  return text.replace(UNSEEN, (char) => (char === '\n' || char === '\t' ? char : escapeOf(char)));
}

/** As {@link printable}, on one line. */
export function oneLine(text: string): string {
  return text.replace(UNSEEN, escapeOf);
}

/** JSON that a terminal shows as it is: what JSON may leave as a character is escaped as well. */
export function printableJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent);
  return text.replace(UNSEEN, (char) => (char === '\n' ? char : escapeOf(char)));
}

function escapeOf(char: string): string {
  return char === '\n' ? '\\n' : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
