import type { EpochMs, Millis } from './brand';
import { isoOf } from './iso';
import { isObject } from './metadata';
import { zoneOf } from './schedule/zone';

/** The longest wait between two polls of an operation whose target asks for none. */
export const LONGEST_POLL_WAIT_MS: Millis = 60_000;

export const CALL_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The `call` of a job as its file has it, checked. Settings and templates in its texts are not filled in. */
export interface CallSpec {
  readonly url: string;
  readonly method: (typeof CALL_METHODS)[number];
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; text is sent as it is. Undefined: none. */
  readonly body?: unknown;
  /** The audience of the token that is sent. */
  readonly identity?: string | undefined;
  /** The statuses that are a success. Undefined: 200 to 299. */
  readonly expect?: readonly number[] | undefined;
}

/** What a template stands for, in one attempt. */
export interface CallValues {
  readonly scheduledFor: EpochMs;
  readonly timeZone: string;
  readonly runId: string;
  readonly attempt: number;
  readonly token: number;
  readonly input: unknown;
}

/** A request of a call that is over. */
export interface RequestOutcome {
  readonly method: string;
  /** Hidden if an app setting has it. */
  readonly host: string;
  readonly port: number;
  /** Undefined: there was no answer. */
  readonly status: number | undefined;
  /** The code of what kept the answer away, or the status from 400 on. Undefined: nothing is wrong. */
  readonly error: string | undefined;
  readonly ms: Millis;
}

/** The value of an app setting; undefined: it is not set. */
export type ReadSetting = (name: string) => string | undefined;

/** What a start knows of the app beside the jobs file. */
export interface CallSurroundings {
  readonly readSetting: ReadSetting;
  /** Undefined: the host of this address may be called. */
  readonly whyForbidden: (address: URL) => string | undefined;
}

/** A template stands for nothing in this run, or for nothing that its place can hold. */
export class CallTemplateError extends Error {
  readonly code = 'CallTemplate';
  override readonly name = 'CallTemplateError';
}

/**
 * `%NAME%`, or `{template}`. A name of two hexadecimal digits is none, because `%C3%A9` is a letter in an address.
 * What is filled in is not searched again: an input must not read a setting.
 */
const PLACES = /%(?![\dA-Fa-f]{2}%)([A-Za-z_]\w*)%|\{([A-Za-z][^{}\s"]*)\}/g;
const TEMPLATE = /^(?:scheduledFor(?::date)?|runId|attempt|token|input(?:\.[\w-]+)+)$/;
/** The part of an address that leads to a host. */
const ORIGIN = /^[^/?#]*\/\/[^/?#]*/;
/** The same before its settings are filled in: one of them may be the whole beginning of the address. */
const HOST = /^(?:[a-z][a-z\d+.-]*:\/\/)?[^/?#]*/i;
/** Parts of a path that readers leave out. */
const DOTS = /(?:^|[/\\])(?:\.|%2e){1,2}(?=$|[/\\])/i;

/** The places of one text. */
interface Places {
  /** The app settings. */
  readonly settings: readonly string[];
  readonly templates: readonly string[];
}

export function placesIn(text: string): Places {
  const found = [...text.matchAll(PLACES)];
  return {
    settings: found.flatMap(([, setting]) => setting ?? []),
    templates: found.flatMap(([, , template]) => template ?? []),
  };
}

export function isTemplate(template: string): boolean {
  return TEMPLATE.test(template);
}

/** Whether an input has the value of this template. Other templates always have one. */
export function isFilledBy(template: string, input: unknown): boolean {
  return !template.startsWith('input.') || memberOf(template, input) !== undefined;
}

/** Each text of a call with the path of its place. */
export function textsOf({ url, headers, body, identity }: Partial<CallSpec>): readonly CallText[] {
  return [
    ...(url === undefined ? [] : [{ path: ['url'], text: url }]),
    ...Object.entries(headers ?? {}).map(([name, text]) => ({ path: ['headers', name], text })),
    ...textsIn(body, ['body']),
    ...(identity === undefined ? [] : [{ path: ['identity'], text: identity }]),
  ];
}

export interface CallText {
  readonly path: readonly (string | number)[];
  readonly text: string;
}

/** The texts in a value of JSON. */
export function textsIn(value: unknown, path: CallText['path']): readonly CallText[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (Array.isArray(value)) return value.flatMap((item, index) => textsIn(item, [...path, index]));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => textsIn(member, [...path, key]));
}

/** A text with its settings filled in. Templates stay. */
export function withSettings(text: string, read: ReadSetting): string {
  return text.replaceAll(PLACES, (place, setting: string | undefined) => {
    return setting === undefined ? place : (read(setting) ?? '');
  });
}

/** The address up to its path, with its settings. Undefined: it is none. */
export function originOf({ url }: Pick<CallSpec, 'url'>, read: ReadSetting): URL | undefined {
  const [origin] = ORIGIN.exec(withSettings(url, read)) ?? [];
  return (origin === undefined ? null : URL.parse(origin)) ?? undefined;
}

/** The part of an address, as the file has it, that chooses the host. */
export function hostText(url: string): string {
  return HOST.exec(url)?.[0] ?? '';
}

/** A request with nothing left to fill in. */
export interface FilledCall {
  readonly address: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: none. */
  readonly body: string | undefined;
  /** It is JSON, and not the text of the file. */
  readonly isJson: boolean;
  readonly audience: string | undefined;
}

/**
 * Fills in settings and templates.
 *
 * @throws CallTemplateError
 */
export function fillCall(call: CallSpec, values: CallValues, read: ReadSetting): FilledCall {
  const fill = (text: string, write: (value: unknown) => string): string =>
    text.replaceAll(PLACES, (_place, setting: string | undefined, template = '') => {
      return setting === undefined ? write(valueOf(template, values)) : (read(setting) ?? '');
    });
  const isJson = typeof call.body !== 'string';
  const body = typeof call.body === 'string' ? fill(call.body, textFor) : filledJson(call.body, values, fill);
  return {
    address: addressOf(fill(call.url, (value) => encodeURIComponent(textFor(value)))),
    headers: Object.fromEntries(
      Object.entries(call.headers).map(([name, text]) => [name, headerOf(name, fill(text, textFor))]),
    ),
    body: typeof body === 'string' && !isJson ? body : body === undefined ? undefined : JSON.stringify(body),
    isJson,
    audience: call.identity === undefined ? undefined : withSettings(call.identity, read),
  };
}

function addressOf(filled: string): URL {
  const [origin = ''] = ORIGIN.exec(filled) ?? [];
  if (DOTS.test(filled.slice(origin.length).replace(/[?#].*$/s, ''))) {
    throw new CallTemplateError('call.url has "." or ".." as a part of its path: leave it out, or change the input');
  }
  const address = URL.parse(filled);
  if (address === null) throw new CallTemplateError('call.url is not an address once it is filled in');
  return address;
}

/** Whether a header can hold this text. */
export function isHeaderValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}

function headerOf(name: string, value: string): string {
  if (isHeaderValue(value)) return value;
  throw new CallTemplateError(`call.headers.${name} has characters that a header cannot contain: change the input`);
}

/** A text that is only a template takes the value as it is. */
function filledJson(
  value: unknown,
  values: CallValues,
  fill: (text: string, write: (value: unknown) => string) => string,
): unknown {
  if (typeof value === 'string') {
    const [, only] = /^\{([A-Za-z][^{}\s"]*)\}$/.exec(value) ?? [];
    return only === undefined ? fill(value, textFor) : valueOf(only, values);
  }
  if (Array.isArray(value)) return value.map((item) => filledJson(item, values, fill));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, filledJson(member, values, fill)]));
}

function textFor(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function valueOf(template: string, values: CallValues): unknown {
  switch (template) {
    case 'scheduledFor':
      return isoOf(values.scheduledFor);
    case 'scheduledFor:date':
      return dateIn(values.timeZone, values.scheduledFor);
    case 'runId':
    case 'attempt':
    case 'token':
      return values[template];
    default: {
      const value = memberOf(template, values.input);
      if (value !== undefined) return value;
      throw new CallTemplateError(`{${template}}: the input of this run has no such member`);
    }
  }
}

function memberOf(template: string, input: unknown): unknown {
  let value = input;
  for (const key of template.split('.').slice(1)) {
    const isMember = (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, key);
    value = isMember ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
  }
  return value;
}

function dateIn(timeZone: string, instant: EpochMs): string {
  const { offset } = zoneOf(timeZone).segmentAt(Math.floor(instant / 1_000));
  return isoOf(instant + offset * 1_000).slice(0, 10);
}
