import { randomInt } from 'node:crypto';
import { listIn, objectIn, textIn } from '../http/json';
import { ConsulError } from './errors';

/** The operations and answers of Consul's transactions: https://developer.hashicorp.com/consul/api-docs/txn */

/** One operation of a transaction. */
export interface Operation {
  readonly KV: Readonly<Record<string, string | number>>;
}

export interface KeyValue {
  readonly key: string;
  /** Empty in the answer to a write. */
  readonly value: string;
  /** Of the cluster, at the last write of this key or of its lock. */
  readonly index: number;
  /** The session that holds the key's lock. */
  readonly session: string | undefined;
}

export interface TransactionAnswer {
  /** Undefined: one of the checks did not hold, and nothing was done. Else the keys that were read or written. */
  readonly found: readonly KeyValue[] | undefined;
  /** The operations whose checks did not hold, by their places. */
  readonly refused: readonly number[];
}

/** A transaction has at most 64 operations. */
export const OPERATIONS = 64;

/** The key must be there. */
export function get(key: string): Operation {
  return { KV: { Verb: 'get', Key: key } };
}

/** The key, if it is there, and all below it. */
export function tree(key: string): Operation {
  return { KV: { Verb: 'get-tree', Key: key } };
}

export function hasIndex({ key, index }: Pick<KeyValue, 'key' | 'index'>): Operation {
  return { KV: { Verb: 'check-index', Key: key, Index: index } };
}

/** A lock stays. */
export function set(key: string, value: string): Operation {
  return written('set', key, value);
}

export function create(key: string, value: string): Operation {
  return written('cas', key, value, { Index: 0 });
}

export function replace({ key, index }: Pick<KeyValue, 'key' | 'index'>, value: string): Operation {
  return written('cas', key, value, { Index: index });
}

export function lock(key: string, value: string, session: string): Operation {
  return written('lock', key, value, { Session: session });
}

export function unlock(key: string, value: string, session: string): Operation {
  return written('unlock', key, value, { Session: session });
}

export function remove(key: string): Operation {
  return { KV: { Verb: 'delete', Key: key } };
}

export function removeTree(key: string): Operation {
  return { KV: { Verb: 'delete-tree', Key: key } };
}

/** A write that changes nothing would keep the index, which others take for a version: so its flags change. */
function written(verb: string, key: string, value: string, rest: Readonly<Record<string, string | number>> = {}) {
  const Flags = randomInt(2 ** 32);
  return { KV: { Verb: verb, Key: key, Value: Buffer.from(value).toString('base64'), Flags, ...rest } };
}

/** @throws ConsulError if the token may not do one of the operations */
export function transactionIn(status: number, answer: unknown): TransactionAnswer {
  const { Results: results, Errors: errors } = objectIn(answer);
  if (status === 200) return { found: listIn(results).flatMap(keyValueIn), refused: [] };
  const refusals = listIn(errors).map((error) => objectIn(error));
  // Only how it begins: further on may be the key, with the name of any job.
  const denial = refusals.map(({ What: what }) => textIn(what)).find((what) => /^(Permission denied|ACL)\b/.test(what));
  if (denial !== undefined) throw new ConsulError(403, denial);
  return { found: undefined, refused: refusals.map(({ OpIndex: place }) => Number(textIn(place))) };
}

/** The answer to a removal has no key. */
function keyValueIn(result: unknown): KeyValue[] {
  const { KV: kv } = objectIn(result);
  const { Key: key, Value: value, ModifyIndex: index, Session: session } = objectIn(kv);
  if (typeof key !== 'string') return [];
  const text = typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : '';
  return [{ key, value: text, index: Number(index), session: textIn(session) || undefined }];
}
