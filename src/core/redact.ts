/**
 * Replaces secrets in texts, and cuts each text to `most` characters. A text that could not be checked is withheld, not
 * returned as it was. A text may be longer than `most` by {@link OVERLAP}, so that a secret at the cut is recognised.
 */
export type Redact = (texts: readonly string[], most: number) => readonly string[];

/** How much of a text is looked at beyond the cut. A secret that is longer than this may be recognised too late. */
export const OVERLAP = 1_024;

/** What is written in place of a secret. */
export const MASK = '***';

/** A part of a text, from `start` up to `end`, which is not in it. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where nothing is secret: only cuts the texts. */
export const redactNothing: Redact = (texts, most) => texts.map((text) => mask(text, [], most));

/**
 * The text up to `most` of its characters, with a mask in place of each of these parts. Parts that touch each other get
 * one mask. A part that begins before the cut is masked as a whole.
 */
export function mask(text: string, parts: readonly Span[], most: number): string {
  let masked = '';
  let done = 0;
  for (const { start, end } of parts.toSorted((a, b) => a.start - b.start)) {
    if (start >= most || end <= start) continue;
    if (start > done || masked === '') masked += `${text.slice(done, start)}${MASK}`;
    done = Math.max(done, end);
  }
  const rest = text.slice(done, most);
  return masked + (most < text.length ? whole(rest) : rest);
}

/**
 * A value of JSON without secrets, in keys, texts and numbers. A pattern may also match a member as JSON writes it,
 * `"password":"…"`: then its value is hidden as a whole.
 */
export function redactJson(value: unknown, redact: Redact): unknown {
  const texts = new Set<string>();
  mapJson(value, (text) => {
    texts.add(text);
    return text;
  });
  const all = [...texts];
  const shown = redact(all, Infinity);
  const hidden = new Map(all.map((text, index) => [text, shown[index] ?? MASK]));
  return mapJson(value, (text) => hidden.get(text) ?? MASK);
}

/** @param hide is called with each key, text and number, and with each member that is one of the latter two */
function mapJson(value: unknown, hide: (text: string) => string): unknown {
  if (isScalar(value)) return hide(String(value)) === String(value) ? value : hide(String(value));
  if (Array.isArray(value)) return value.map((inner) => mapJson(inner, hide));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([key, inner]: [string, unknown]) => {
    const mapped = mapJson(inner, hide);
    const member = `${JSON.stringify(key)}:${JSON.stringify(inner)}`;
    const isHidden = isScalar(inner) && hide(member) !== member && mapped === inner;
    return [hide(key), isHidden ? MASK : mapped] as const;
  });
  return Object.fromEntries(members);
}

function isScalar(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** Half of a surrogate pair at the end, left by a cut, is not a character. */
function whole(text: string): string {
  return text.replace(/[\uD800-\uDBFF]$/, '');
}
