import type { JobInFile } from '../config/job-in-file';
import { OWN_HEADER } from '../config/check-call';
import { CALL_METHODS, isHeaderValue, placesIn } from '../core/call';
import { looksSecret, maskSecrets } from '../core/redact';

type Call = NonNullable<JobInFile['call']>;

export interface CurlCall {
  readonly call: Call;
  readonly fails: boolean;
}

/** They change what curl prints, and nothing else. */
const QUIET = new Set(['--silent', '--show-error', '--no-progress-meter', '--fail-early']);
const FAILS = new Set(['--fail', '--fail-with-body']);
const SHORT: Readonly<Record<string, string>> = {
  s: '--silent',
  S: '--show-error',
  f: '--fail',
  X: '--request',
  H: '--header',
  d: '--data',
  o: '--output',
};
const WITH_VALUE = new Set(
  ['request', 'header', 'data', 'data-raw', 'data-binary', 'data-ascii', 'json', 'url', 'output'].map(
    (name) => `--${name}`,
  ),
);

/** The call that does what a container does. Undefined: it does not only run curl, or not with known options only. */
export function callOfContainer(container: {
  readonly image?: string | null | undefined;
  readonly command?: readonly string[] | null | undefined;
  readonly args?: readonly string[] | null | undefined;
}): CurlCall | undefined {
  const words = wordsOf(container);
  const options = words === undefined ? undefined : optionsIn(words);
  return options === undefined ? undefined : callOf(options);
}

function wordsOf({ image, command, args }: Parameters<typeof callOfContainer>[0]): readonly string[] | undefined {
  const all = [...(command ?? []), ...(args ?? [])];
  // Kubernetes fills in $(NAME).
  if (all.some((word) => word.includes('$('))) return undefined;
  if (command == null || command.length === 0) {
    return /^(?:[^/]+\/)*curlimages\/curl(?::[^/]*|@.*)?$/.test(image ?? '') ? all : undefined;
  }
  const [program = '', ...rest] = all;
  if (/^(?:\/usr\/bin\/|\/bin\/)?curl$/.test(program)) return rest;
  const [flag, text, more] = rest;
  if (!/^(?:\/bin\/)?(?:sh|bash|ash)$/.test(program) || flag !== '-c' || text === undefined || more !== undefined) {
    return undefined;
  }
  const [first, ...others] = shellWords(text) ?? [];
  return first === 'curl' ? others : undefined;
}

/** The words of one plain command. Undefined: a shell would do more than to split it. */
function shellWords(text: string): readonly string[] | undefined {
  const words = text.trim().match(/(?:[^\s'"\\]|'[^']*'|"[^"$`\\!]*")+/g) ?? [];
  const plain = text.trim().replaceAll(/'[^']*'|"[^"$`\\!]*"/g, 'x');
  if (!/^[\w\s./:@%+=,?-]*$/.test(plain) || /[\n?]/.test(plain)) return undefined;
  return words.map((word) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, one?: string, two?: string) => one ?? two ?? ''),
  );
}

type Options = readonly (readonly [name: string, value: string])[];

function optionsIn(words: readonly string[]): Options | undefined {
  const options: (readonly [string, string])[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (!word.startsWith('-')) {
      options.push(['--url', word]);
      continue;
    }
    const names = word.startsWith('--') ? [word] : Array.from(word.slice(1), (letter) => SHORT[letter] ?? '');
    for (const [place, name] of names.entries()) {
      if (!WITH_VALUE.has(name)) {
        if (!QUIET.has(name) && !FAILS.has(name)) return undefined;
        options.push([name, '']);
        continue;
      }
      // `-XPOST` has its value in the same word.
      const rest = word.startsWith('--') ? '' : word.slice(place + 2);
      if (rest === '') at += 1;
      const value = rest === '' ? words[at] : rest;
      if (value === undefined) return undefined;
      options.push([name, value]);
      break;
    }
  }
  return options;
}

function callOf(options: Options): CurlCall | undefined {
  const of = (...names: readonly string[]): readonly string[] =>
    options.flatMap(([name, value]) => (names.includes(name) ? [value] : []));
  const [url = '', ...others] = of('--url');
  const json = of('--json');
  const data = of('--data', '--data-raw', '--data-binary', '--data-ascii');
  // Only --data-raw takes an "@" as it is.
  const readsFile = [...json, ...of('--data', '--data-binary', '--data-ascii')].some((text) => text.startsWith('@'));
  const prints = of('--output').some((file) => file !== '/dev/null');
  if (others.length > 0 || readsFile || prints || (json.length > 0 && data.length > 0)) return undefined;
  const hasBody = json.length + data.length > 0;
  const method = CALL_METHODS.find((one) => one === (of('--request').at(-1) ?? (hasBody ? 'POST' : 'GET')));
  const headers = headersOf(of('--header'));
  if (method === undefined || headers === undefined || (hasBody && /^(?:GET|HEAD)$/.test(method))) return undefined;
  // curl expands brackets.
  if (!URL.canParse(url) || /[[\]{}]/.test(url) || !/^https:\/\/[^@/]+(?:[/?#]|$)/.test(url)) return undefined;
  const body = json.length > 0 ? json.join('') : data.join('&');
  const call: Call = {
    url,
    method,
    headers: { ...contentOf(json.length > 0, hasBody), ...headers },
    ...(hasBody && { body }),
  };
  return isPlain(call) ? { call, fails: options.some(([name]) => FAILS.has(name)) } : undefined;
}

function contentOf(isJson: boolean, hasBody: boolean): Readonly<Record<string, string>> {
  if (isJson) return { 'content-type': 'application/json', accept: 'application/json' };
  return hasBody ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
}

/** In small letters, as a later one replaces that of an option. Undefined: curl gives one of them another meaning. */
function headersOf(texts: readonly string[]): Readonly<Record<string, string>> | undefined {
  const headers: Record<string, string> = {};
  for (const text of texts) {
    const [, name, value] = /^([\w-]+):\s*(\S.*?)\s*$/.exec(text) ?? [];
    if (name === undefined || value === undefined || name.toLowerCase() in headers) return undefined;
    if (OWN_HEADER.test(name) || !isHeaderValue(value)) return undefined;
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** Whether no text has a secret, or would be filled in. */
function isPlain({ url, headers = {}, body }: Call): boolean {
  const texts = [url, ...Object.values(headers), ...(typeof body === 'string' ? [body] : [])];
  const isFilled = texts.some((text) => {
    const { settings, templates } = placesIn(text);
    return settings.length + templates.length > 0;
  });
  const hasSecret =
    texts.some((text) => maskSecrets(text) !== text) ||
    Object.entries(headers).some(([name, value]) => looksSecret(name, value));
  return !isFilled && !hasSecret;
}
