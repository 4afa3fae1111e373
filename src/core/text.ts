/** How much of a text that others wrote, or of an event's reason, is passed on. */
const BRIEF = 300;

/** The beginning of a text: whole listings and web pages have come back as messages of errors. */
export function brief(text: string): string {
  if (text.length <= BRIEF) return text;
  // A surrogate that has lost its other half is no character.
  return `${text.slice(0, BRIEF - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
