import type { CallMeans } from '../call/call';
import type { CallSpec, CallSurroundings, RequestOutcome } from '../core/call';
import type { JobSpec } from '../core/job';
import { loadedOnce } from '../core/loaded-once';
import { isObject, parsedJson } from '../core/metadata';
import type { Environment } from './app-settings';
import { secretSetting, SettingError } from './settings';
import type { CallHandler } from '../handler/handlers';
import { type Format, FORMATS, type Receiver } from '../notices/formats';
import {
  type AllowedHost,
  checkAddress,
  ForbiddenAddressError,
  type Guard,
  isOpenToAll,
  networksOf,
} from '../notices/guard';
import { keyOf } from '../notices/try';
import { isReference } from '../stores/open';
import { systemClock } from '../system-clock';

const NAME = /^[a-z0-9-]{1,63}$/;
const PAGERDUTY = 'https://events.pagerduty.com/v2/enqueue';
/** Stands for a value in a message: it may be secret. */
const HIDDEN = '…';

export type NoticeSettings = ReturnType<typeof noticeSettings>;

/** Throws {@link SettingError}; its message repeats no address and no secret. */
export function noticeSettings(env: Environment, isUnderDev = false) {
  const setting = 'CRONLEASE_NOTIFY_HOSTS';
  const guard: Guard = { setting, hosts: allowedHosts(env, setting), isLocal: isUnderDev || isLocal(env) };
  const receivers = namedIn(env, 'CRONLEASE_RECEIVERS', '{"ops": {…}}').map(
    ([name, place, value]) => [name, receiverOf(place, name, value, guard)] as const,
  );
  const pings = namedIn(env, 'CRONLEASE_PINGS', '{"nightly": "https://hc-ping.com/…"}').map(
    ([name, place, value]) => [name, addressOf(place, value, guard)] as const,
  );
  return { receivers: new Map(receivers), pings: new Map(pings), guard, publicAddress: publicAddress(env) };
}

/** Only `cronlease dev` sets the secret: there, receivers on this machine are for trying out. */
export function isLocal(env: Environment): boolean {
  return (env['CRONLEASE_DEV_SECRET'] ?? '') !== '' && env['WEBSITE_SITE_NAME'] === undefined;
}

/** The members of a setting that is an object in JSON: by name, with their places in messages. */
function namedIn(
  env: Environment,
  setting: 'CRONLEASE_RECEIVERS' | 'CRONLEASE_PINGS',
  example: string,
): readonly (readonly [name: string, place: string, value: unknown])[] {
  const text = secretSetting(env, setting);
  if (text === '') return [];
  const value = parsedJson(text);
  // The error of the parser repeats a part of the text, which may be secret.
  if (value === undefined)
    throw new SettingError(setting, HIDDEN, `it is not JSON. Write an object such as ${example}`);
  if (!isObject(value)) throw new SettingError(setting, HIDDEN, `it is not an object such as ${example}`);
  const wrong = Object.keys(value).find((name) => !NAME.test(name));
  if (wrong !== undefined) {
    throw new SettingError(setting, shownName(wrong), 'a name has 1 to 63 of the characters a-z, 0-9 and -');
  }
  return Object.entries(value).map(([name, member]) => [name, `${setting}.${name}`, member]);
}

/** A name as a message shows it. An address or a key may stand in its place. */
function shownName(name: string): string {
  return /^[A-Za-z][\w -]{0,19}$/.test(name) ? name : HIDDEN;
}

function receiverOf(place: string, name: string, value: unknown, guard: Guard): Receiver {
  const refuse = (member: string, remedy: string): never => {
    throw new SettingError(`${place}${member}`, HIDDEN, remedy);
  };
  if (!isObject(value)) return refuse('', 'must be an object such as {"format": "slack", "url": "https://…"}');
  const { format: given, url, secret, routingKey, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined) refuse(`.${shownName(other)}`, 'is not a member: use format, url, secret and routingKey');
  const format: Format = FORMATS.find((one) => one === given) ?? refuse('.format', `use one of ${FORMATS.join(', ')}`);
  const secrets = (Array.isArray(secret) ? secret : secret === undefined ? [] : [secret]).map(
    (one: unknown) =>
      (typeof one === 'string' ? keyOf(one) : undefined) ??
      refuse('.secret', 'must be "whsec_" and the base64 of 24 to 64 random bytes, or a list of two during a rotation'),
  );
  if (format === 'cloudevents' && secrets.length === 0) {
    refuse('.secret', 'is missing: without it the receiver cannot verify who sent a notice');
  }
  if (format === 'pagerduty' && !(typeof routingKey === 'string' && /^[A-Za-z0-9]{32}$/.test(routingKey))) {
    refuse('.routingKey', 'must be the integration key of 32 letters and digits');
  }
  const address = addressOf(`${place}.url`, url ?? (format === 'pagerduty' ? PAGERDUTY : undefined), guard);
  return { name, format, address, secrets, routingKey: typeof routingKey === 'string' ? routingKey : undefined };
}

/** An address that may be called. Where its host leads is checked again with each call. */
function addressOf(place: string, value: unknown, guard: Guard): URL {
  const address = typeof value === 'string' ? URL.parse(value) : null;
  if (address === null) throw new SettingError(place, HIDDEN, 'must be an address such as "https://hooks.slack.com/…"');
  try {
    checkAddress(address, guard);
  } catch (error) {
    if (error instanceof ForbiddenAddressError) throw new SettingError(place, HIDDEN, error.message);
    throw error;
  }
  return address;
}

/** The hosts of an allow list. Throws {@link SettingError}. */
export function allowedHosts(env: Environment, setting: Guard['setting']): readonly AllowedHost[] {
  const entries = (env[setting] ?? '').split(',').map((entry) => entry.trim().toLowerCase());
  return entries
    .filter((entry) => entry !== '')
    .map((entry, index) => {
      const [pattern = '', ...networks] = entry.split('=');
      const place = `${setting}, entry ${String(index + 1)}`;
      // It may be a pasted address, which holds a secret.
      if (!/^(\*\.[a-z0-9-]+(\.[a-z0-9-]+)*|[a-z0-9.:-]+)$/.test(pattern)) {
        const remedy =
          'must be only the name of a host, such as hooks.slack.com, or *.api.powerplatform.com, not an address';
        throw new SettingError(place, HIDDEN, remedy);
      }
      if (isOpenToAll(pattern)) {
        const remedy = 'anyone can get a name there: use the whole name of the host';
        throw new SettingError(place, pattern, remedy);
      }
      if (networksOf(networks) === undefined) {
        throw new SettingError(place, HIDDEN, 'must have a network after "=", such as alerts.corp.example=10.0.0.0/8');
      }
      return { pattern, networks };
    });
}

function publicAddress(env: Environment): URL | undefined {
  const text = env['CRONLEASE_PUBLIC_URL'];
  if (text === undefined || text === '') return undefined;
  const address = URL.parse(text);
  if (address !== null && (address.protocol === 'https:' || address.protocol === 'http:')) return address;
  throw new SettingError(
    'CRONLEASE_PUBLIC_URL',
    text,
    'must be the address of the dashboard, such as https://APP.azurewebsites.net/api/manage/',
  );
}

const THIS_MACHINE = ['localhost', '127.0.0.1', '::1'];

/** What the calls of jobs need of this app. */
export interface CallSettings extends CallSurroundings {
  readonly guard: Guard;
}

/** The settings of calls. Throws {@link SettingError}. */
export function callSettings(env: Environment): CallSettings {
  const setting = 'CRONLEASE_CALL_HOSTS';
  const local = isLocal(env);
  const own = local ? THIS_MACHINE.map((pattern) => ({ pattern, networks: [] })) : [];
  const guard: Guard = { setting, hosts: [...allowedHosts(env, setting), ...own], isLocal: local };
  return {
    guard,
    // Azure could not resolve a reference that is still one.
    readSetting: (name) => (isReference(env[name]) ? undefined : env[name]),
    whyForbidden: (address) => {
      try {
        checkAddress(address, guard);
        return undefined;
      } catch (error) {
        if (error instanceof ForbiddenAddressError) return error.message;
        throw error;
      }
    },
  };
}

/** Makes what jobs with a `call` run. The code of calls is loaded at the first of them. */
export function callHandlers(
  { guard, readSetting }: CallSettings,
  env: Environment,
  onOutcome?: (outcome: RequestOutcome) => void,
): (spec: JobSpec, call: CallSpec) => CallHandler {
  const means = loadedOnce(async (): Promise<CallMeans> => {
    const [{ guardedRequest }, { appCredential, createTokens }] = await Promise.all([
      import('../notices/request.js'),
      import('../call/identity.js'),
    ]);
    return {
      clock: systemClock,
      guard,
      readSetting,
      send: (asked, limits) => guardedRequest(asked, { ...limits, guard }),
      onOutcome,
      tokenFor: createTokens(systemClock, () =>
        appCredential(env['WEBSITE_SITE_NAME'] !== undefined, env['HANDLERS_CLIENT_ID']),
      ),
    };
  });
  return ({ timeZone }, call) => ({
    call: async (context, input, kept) => {
      const { runCall } = await import('../call/call.js');
      return runCall({ call, timeZone }, { means: await means(), context, kept, input });
    },
  });
}
