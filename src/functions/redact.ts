import vm from 'node:vm';
import type { Millis } from '../core/brand';
import { type Redact, type Span, mask } from '../core/redact';
import { isObject, parsedJson } from '../core/metadata';
import type { Environment } from './app-settings';
import { SettingError } from './settings';

const SETTING = 'CRONLEASE_REDACT';
const EXAMPLE = String.raw`["Bearer \\S+","(?<=password=)[^&\\s]+"]`;
const MOST_PATTERNS = 50;
const LONGEST_PATTERN = 1_000;

/** How long all patterns together may search the texts of one write. */
const SEARCH_LIMIT_MS: Millis = 100;
/** How long one pattern may search a line at the start: the last of these. A machine may be busy for a moment. */
const TRIAL_LIMITS_MS: readonly Millis[] = [100, 2_000];
const TRIAL_CHARACTERS = 1_000;
/** Lines on which a pattern with nested repetitions shows how long it takes. */
const TRIALS = ['a', '0', ' ', 'Az09 ', 'a=b&', '{"a":1},', 'a.b-c_d/'].map(
  (part) => `${part.repeat(TRIAL_CHARACTERS / part.length)}\u0007`,
);

const WITHHELD = `(withheld: the patterns of ${SETTING} took too long)`;

/** The patterns of secrets in what handlers say. Undefined: there are none. Throws {@link SettingError}. */
export function redactSetting(env: Environment): Redact | undefined {
  const text = env[SETTING];
  if (text === undefined || text === '') return undefined;
  const value = parsedJson(text);
  if (value === undefined) {
    throw new SettingError(SETTING, text, `it is not JSON. Write a list of regular expressions, such as ${EXAMPLE}`);
  }
  if (!Array.isArray(value) || value.length > MOST_PATTERNS) {
    const problem = Array.isArray(value) ? `it has ${String(value.length)} patterns` : 'it is not a list';
    const list = `a list of up to ${String(MOST_PATTERNS)} regular expressions`;
    throw new SettingError(SETTING, text, `${problem}. Write ${list}, such as ${EXAMPLE}`);
  }
  const patterns = value.map((pattern: unknown, index) => compile(pattern, `${SETTING}[${String(index)}]`));
  return patterns.length === 0 ? undefined : redactBy(patterns);
}

function compile(pattern: unknown, place: string): RegExp {
  if (typeof pattern !== 'string' || pattern.length > LONGEST_PATTERN) {
    const shown = typeof pattern === 'string' ? `${pattern.slice(0, 40)}…` : JSON.stringify(pattern);
    const remedy = `must be a regular expression of up to ${String(LONGEST_PATTERN)} characters as text`;
    throw new SettingError(place, shown, remedy);
  }
  const refuse = (remedy: string): never => {
    throw new SettingError(place, pattern, remedy);
  };
  let compiled: RegExp;
  try {
    compiled = new RegExp(pattern, 'gu');
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return refuse(`${problem}. Write a JavaScript regular expression with the flag u`);
  }
  if (compiled.test('')) refuse('it matches the empty text, and so everywhere. Make it match at least one character');
  const isSlow = (line: string): boolean =>
    TRIAL_LIMITS_MS.every((limit) => search([compiled], [line], limit).length === 0);
  if (TRIALS.some(isSlow)) {
    const problem = `it takes seconds on a line of ${String(TRIAL_CHARACTERS)} characters`;
    refuse(`${problem}. Avoid a repetition in a repetition, such as (a+)+`);
  }
  return compiled;
}

/** Hides what the patterns match. Texts for which the time does not suffice are withheld. */
function redactBy(patterns: readonly RegExp[]): Redact {
  return (texts, most) => {
    const cleaned = texts.map(seenParts);
    // A pattern may also name such a character itself.
    const hidden = cleaned.flatMap((one) => (one === undefined ? [] : [one]));
    const found = search(patterns, [...texts, ...hidden.map(({ seen }) => seen)], SEARCH_LIMIT_MS);
    let next = texts.length;
    return texts.map((text, index) => {
      const places = cleaned[index]?.places;
      const seen = places === undefined ? [] : found[next++];
      const parts = found[index];
      if (parts === undefined || seen === undefined) return WITHHELD;
      const back = seen.map(({ start, end }) => ({ start: places?.[start] ?? 0, end: (places?.[end - 1] ?? 0) + 1 }));
      return mask(text, [...parts, ...back], most);
    });
  };
}

/** Invisible characters and escapes of a terminal, which would hide a secret from the patterns. */
const UNSEEN = /[^\P{Cc}\n\t]\[[0-?]*[ -/]*[@-~]|[^\P{Cc}\n\t]|[\p{Cf}\p{DI}]/gu;

/** What the patterns match in the text as a person sees it, at its places in the text as it is. */
function seenParts(text: string): { readonly seen: string; readonly places: readonly number[] } | undefined {
  const places: number[] = [];
  let seen = '';
  let done = 0;
  const until = (end: number): void => {
    for (let at = done; at < end; at += 1) places.push(at);
    seen += text.slice(done, end);
  };
  for (const { index, 0: hidden } of text.matchAll(UNSEEN)) {
    until(index);
    done = index + hidden.length;
  }
  if (done === 0) return undefined;
  until(text.length);
  return { seen, places };
}

/** Only a script can be stopped in the middle of a regular expression. */
const SEARCH = new vm.Script(`
for (const text of texts) {
  const parts = [];
  for (const pattern of patterns) {
    for (const match of text.matchAll(pattern)) {
      parts.push({ start: match.index, end: match.index + match[0].length });
    }
  }
  found.push(parts);
}
`);

/** Each line of a handler is searched, and a new context for each would take most of the time. */
let room: vm.Context | undefined;

/** What the patterns match in each text, for as many of the texts as the time suffices. */
function search(patterns: readonly RegExp[], texts: readonly string[], limit: Millis): readonly (readonly Span[])[] {
  const found: Span[][] = [];
  room ??= vm.createContext({});
  Object.assign(room, { patterns, texts, found });
  try {
    SEARCH.runInContext(room, { timeout: limit });
  } catch (error) {
    if (!isObject(error) || error['code'] !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
  }
  return found;
}
