import type { AccessSettings } from '../manage/access';
import { ENVIRONMENT_COLORS, type ShownEnvironment } from '../manage/environment';
import { readKeys } from '../manage/keys';
import type { Environment } from './app-settings';
import { secretSetting, SettingError } from './settings';

/** A shorter secret could be guessed. */
const SECRET_LENGTH = 32;

/** Who may call the HTTP API. Throws {@link SettingError}; its message repeats no key, digest or secret. */
export function accessSettings(env: Environment): AccessSettings {
  return {
    platformAuth: env['WEBSITE_AUTH_ENABLED']?.toLowerCase() === 'true',
    keys: keysOf(env),
    devSecret: devSecret(env),
    readOnly: readOnly(env),
  };
}

function keysOf(env: Environment): AccessSettings['keys'] {
  const keys = readKeys(secretSetting(env, 'CRONLEASE_API_KEYS'));
  if (!('problem' in keys)) return keys;
  const { entry, problem, remedy } = keys;
  throw new SettingError('CRONLEASE_API_KEYS', `entry ${entry}`, `${problem}. To correct it, ${remedy}`);
}

/** Only `cronlease dev` sets it: on Azure it would stand for a login. */
function devSecret(env: Environment): string | undefined {
  const secret = env['CRONLEASE_DEV_SECRET'];
  if (secret === undefined || secret === '') return undefined;
  if (env['WEBSITE_SITE_NAME'] !== undefined) {
    throw new SettingError('CRONLEASE_DEV_SECRET', '…', 'it is only for "cronlease dev". Remove it from the app');
  }
  if (secret.length >= SECRET_LENGTH) return secret;
  throw new SettingError('CRONLEASE_DEV_SECRET', '…', 'it is too short. Leave it out: "cronlease dev" makes one');
}

function readOnly(env: Environment): boolean {
  const text = env['CRONLEASE_MANAGE_READ_ONLY'] ?? '';
  switch (text.toLowerCase()) {
    case 'true':
      return true;
    case 'false':
    case '':
      return false;
    default:
      throw new SettingError('CRONLEASE_MANAGE_READ_ONLY', text, 'use "true" or "false"');
  }
}

const ENVIRONMENT_LENGTH = 40;

/** The environment's name and colour for people. Throws {@link SettingError}. */
export function environmentSetting(env: Environment): ShownEnvironment | undefined {
  const name = env['CRONLEASE_ENVIRONMENT']?.trim() ?? '';
  const text = env['CRONLEASE_ENVIRONMENT_COLOR'] ?? '';
  const color = text === '' ? 'gray' : ENVIRONMENT_COLORS.find((one) => one === text);
  if (color === undefined) {
    throw new SettingError('CRONLEASE_ENVIRONMENT_COLOR', text, `use one of ${ENVIRONMENT_COLORS.join(', ')}`);
  }
  if (name.length > ENVIRONMENT_LENGTH) {
    throw new SettingError('CRONLEASE_ENVIRONMENT', name, `use at most ${ENVIRONMENT_LENGTH} characters`);
  }
  return name === '' ? undefined : { name, color };
}
