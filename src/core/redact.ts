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

/** Parts of a name that say that its value is secret. */
const SECRET = String.raw`(?:pass(?:word|wd|phrase)?|pwd|secret|token|(?:api|access|account|auth|private|shared|master|functions?|signing|encryption|subscription)[._-]?key|credential|signature)s?`;
const VALUE = String.raw`(?:"[^"]*"|'[^']*'|[^\s"';&|]+)`;

/** What comes before a secret stays, in group 1. */
const BEFORE_SECRETS: readonly RegExp[] = [
  // --password=…, --db-password …, -Dspring.datasource.password=…
  new RegExp(String.raw`((?:^|\s)--?[\w.-]*${SECRET}(?:=|:|\s+)\s*)${VALUE}`, 'gi'),
  // DB_PASSWORD=…, password: …, ?token=…, AccountKey=…
  new RegExp(String.raw`([\w.-]*${SECRET}[\w.-]*["']?\s*[=:]\s*)${VALUE}`, 'gi'),
  // The password of an address, and signatures of shared access.
  /(\b[a-z][\w+.-]*:\/\/[^\s:/@]*:)[^\s/@]+(?=@)/gi,
  /([?&](?:sig|code|key|auth|sas)=)[^\s&"']+/gi,
  // Headers.
  /((?:authorization|cookie|x-[\w-]*(?:key|token|auth)[\w-]*)\s*:\s*(?:basic|bearer|token)?\s*)[^\s"']+/gi,
  // Options of one letter, of the programs that have them: mysqldump -pX, sshpass -p X, redis-cli -a X, curl -u USER:X.
  /(\b(?:mysql\w*|maria\w*|mongo\w*|sqlcmd|bcp|osql)\b[^;&|]*?\s-[pP]\s?)(?!-)(?:"[^"]*"|'[^']*'|[^\s-][^\s;&|]*)/g,
  /(\bsshpass\s+-p\s*)(?:"[^"]*"|'[^']*'|\S+)/g,
  /(\bredis-cli\b[^;&|]*?\s-a\s*)(?:"[^"]*"|'[^']*'|\S+)/g,
  /(\bldap\w+\b[^;&|]*?\s-w\s*)(?:"[^"]*"|'[^']*'|\S+)/g,
  /(\bcurl\b[^;&|]*?\s(?:-u|--user)[=\s]?\s*["']?[^\s:"']*:)[^\s"']+/g,
  /(\b(?:az|docker|podman|helm|oras|skopeo)\b[^;&|]*?\slogin\b[^;&|]*?\s-p[\s=]?)(?!-)(?:"[^"]*"|'[^']*'|[^\s;&|]+)/g,
  /(\b(?:un)?zip\b[^;&|]*?\s-P\s?)(?:"[^"]*"|'[^']*'|[^\s;&|]+)/g,
  /(\b7z\w*\b[^;&|]*?\s-p)(?:"[^"]*"|'[^']*'|[^\s;&|]+)/g,
  /(\blftp\b[^;&|]*?\s-u\s*["']?[^\s,"']*,)[^\s"']+/g,
  // Given to a program on its standard input.
  /(\b(?:echo|printf)\s+(?:-\w+\s+)*)(?:"[^"]*"|'[^']*'|[^\s|;&]+)(?=\s*\|[^|;&]*(?:\ssudo\b[^|;&]*\s-\w*S\b|--\w+-stdin\b))/g,
  /(\bsmb\w+\b[^;&|]*?\s-U\s*["']?[^\s%"']*%)[^\s"']+/g,
];

/** A command, or another text of a source, without the secrets that people write into such: a mask stands for each. */
export function maskSecrets(text: string): string {
  return BEFORE_SECRETS.reduce((masked, pattern) => masked.replaceAll(pattern, `$1${MASK}`), text);
}

const SECRET_NAME = new RegExp(SECRET, 'i');

/** Whether the value of a setting with this name is not shown, and not carried into a jobs file. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** A name in words, whose value is a secret, and not one with more letters, such as `tokenizer`. */
const SECRET_MEMBER = new RegExp(String.raw`(?<!by|com)${SECRET}(?![a-z])|^(?:authorization|cookie)$`, 'i');
/** A name in words, whose value only leads to a secret, or describes one. */
const REFERENCE = /_(?:name|id|ur[il]|ref|reference|path|file|env|variable|setting|type|vault)s?$/i;
/** A value that is filled in elsewhere, such as `${TOKEN}`. */
const PLACEHOLDER = /^(?:\$\{?\w+\}?|%\w+%|\{\{.*\}\}|<.*>|@Microsoft\.KeyVault\(.*\))$/;
/** Keys and tokens that show what they are by their form. */
const FORMS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
  /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/, // JSON web token
  /(?<![\w+/])[A-Za-z\d+/]{86}==(?!=)/, // Azure: storage account, Service Bus and others with 64 bytes
  /[\w-]{40,}AzFu[\w-]{6,}==/, // Azure Functions
  /(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}/, // Entra
  /\b(?:AKIA|ASIA)[A-Z\d]{16}\b/, // AWS
  /\b(?:gh[oprsu]_\w{36}|github_pat_\w{22}|glpat-[\w-]{20}|xox[abeprs]-[\w-]{10}|[rs]k_live_\w{16}|npm_\w{36})/,
];
/** The search for the names of secrets takes quadratic time. */
const SEARCHED = 1_000;

/** Whether a member of a JSON object looks like a key or a password: by its name, or by the form of its value. */
export function looksSecret(name: string, value: string): boolean {
  const text = value.slice(0, SEARCHED);
  if (text === '' || PLACEHOLDER.test(text)) return false;
  const words = name.slice(0, SEARCHED).replaceAll(/([a-z\d])([A-Z])/g, '$1_$2');
  if (SECRET_MEMBER.test(words) && !REFERENCE.test(words)) return true;
  return FORMS.some((form) => form.test(text)) || maskSecrets(text) !== text;
}
