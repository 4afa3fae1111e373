import { createHash, timingSafeEqual } from 'node:crypto';
import { PAYLOADS, ROLES, type Rights, rightsOf } from './rights';

/** A key of a machine, as `CRONLEASE_API_KEYS` holds it. The key itself is stored nowhere. */
export interface ApiKey {
  readonly name: string;
  readonly rights: Rights;
  /** SHA-256 of the key. */
  readonly digest: Buffer;
}

/** The reason why a list of keys cannot be used. It repeats no part that may be a key in the wrong place. */
export interface KeysProblem {
  /** Counts from 1. */
  readonly entry: number;
  readonly problem: string;
  readonly remedy: string;
}

const NAME = /^[a-z0-9][a-z0-9-]{0,39}$/;
const DIGEST = /^[0-9a-f]{64}$/;
const FORM = 'must be NAME:ROLE:SHA256 entries, separated by commas, such as "ci:operator:<64 hex digits>"';
/** The digest of an empty text, which a pipeline produces from a variable that is not set. */
const OF_NOTHING = sha256('').toString('hex');

/** Reads `name:role:sha256` entries, separated by commas or white space. An empty list is not an error. */
export function readKeys(text: string): readonly ApiKey[] | KeysProblem {
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  const keys: ApiKey[] = [];
  for (const [index, entry] of entries.entries()) {
    const key = readKey(entry, keys);
    if ('problem' in key) return { entry: index + 1, ...key };
    keys.push(key);
  }
  return keys;
}

function readKey(entry: string, before: readonly ApiKey[]): ApiKey | Omit<KeysProblem, 'entry'> {
  const parts = entry.split(':');
  if (parts.length !== 3) return { problem: `it has ${parts.length} parts instead of 3`, remedy: FORM };
  const [name = '', roleText = '', digest = ''] = parts;
  if (!NAME.test(name)) {
    return { problem: 'its name cannot be used', remedy: 'use 1 to 40 of a-z, 0-9 and -, beginning with a-z or 0-9' };
  }
  const rights = rightsOf([roleText]);
  if (rights === undefined) {
    return { problem: 'its role is unknown', remedy: `use ${[...ROLES, PAYLOADS].join(', ')}` };
  }
  if (!DIGEST.test(digest)) {
    const found = `its third part has ${digest.length} characters`;
    return { problem: `${found}, and is not a SHA-256 in lowercase hex`, remedy: 'run: printf %s KEY | sha256sum' };
  }
  if (digest === OF_NOTHING) {
    return { problem: `"${name}" has the SHA-256 of an empty key`, remedy: 'make a key: openssl rand -base64 32' };
  }
  if (before.some((other) => other.name === name)) {
    return { problem: `there is another key named "${name}"`, remedy: 'give each key its own name' };
  }
  if (before.some((other) => other.digest.toString('hex') === digest)) {
    return { problem: `"${name}" has the same key as another entry`, remedy: 'make a key for each name' };
  }
  return { name, rights, digest: Buffer.from(digest, 'hex') };
}

/** The key with this value. The time that this takes does not depend on the keys. */
export function keyOf(keys: readonly ApiKey[], presented: string): ApiKey | undefined {
  const digest = sha256(presented);
  let found: ApiKey | undefined;
  for (const key of keys) if (timingSafeEqual(key.digest, digest)) found = key;
  return found;
}

/** Whether two secrets are equal, in a time that does not depend on them. */
export function sameSecret(one: string, other: string): boolean {
  return timingSafeEqual(sha256(one), sha256(other));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}
