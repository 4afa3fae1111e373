import { listIn, objectIn, textIn } from '../http/json';
import { afterPrefix } from '../port';

/** The requests and answers of etcd's gateway that are used here: https://etcd.io/docs/v3.4/dev-guide/api_grpc_gateway/ */

/** A condition of a transaction. */
export type Compare = Readonly<Record<string, string>>;

/** One operation of a transaction. */
export type Operation = Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>;

export interface Transaction {
  readonly compare?: readonly Compare[];
  readonly success: readonly Operation[];
  readonly failure?: readonly Operation[];
}

export interface KeyValue {
  readonly key: string;
  readonly value: string;
  /** The revision of the cluster at its last write. */
  readonly mod: string;
  /** The lease that it ends with; undefined: none. */
  readonly lease: string | undefined;
}

/** The answer to one operation. */
export interface Found {
  readonly kvs: readonly KeyValue[];
}

export interface TransactionAnswer {
  readonly succeeded: boolean;
  readonly revision: string;
  readonly found: readonly Found[];
}

function encoded(text: string | Buffer): string {
  return Buffer.from(text).toString('base64');
}

function decoded(text: unknown): string {
  return typeof text === 'string' ? Buffer.from(text, 'base64').toString('utf8') : '';
}

/** The key right after this one. */
export function afterKey(key: string): string {
  return `${key}\0`;
}

export function isAbsent(key: string): Compare {
  return { key: encoded(key), target: 'CREATE', result: 'EQUAL', create_revision: '0' };
}

export function isThere(key: string): Compare {
  return { key: encoded(key), target: 'CREATE', result: 'GREATER', create_revision: '0' };
}

export function hasRevision(key: string, mod: string): Compare {
  return { key: encoded(key), target: 'MOD', result: 'EQUAL', mod_revision: mod };
}

/** Not written since that revision. Holds if it is gone, too. */
export function isAsOld(key: string, mod: string): Compare {
  return { key: encoded(key), target: 'MOD', result: 'LESS', mod_revision: String(BigInt(mod) + 1n) };
}

export function hasValue(key: string, value: string): Compare {
  return { key: encoded(key), target: 'VALUE', result: 'EQUAL', value: encoded(value) };
}

/** @param lease the key ends with it */
export function put(key: string, value: string | Buffer, lease?: string): Operation {
  return { request_put: { key: encoded(key), value: encoded(value), ...(lease !== undefined && { lease }) } };
}

/** Frees a key from its lease. */
export function keep(key: string): Operation {
  return { request_put: { key: encoded(key), ignore_value: true } };
}

export function get(key: string): Operation {
  return { request_range: { key: encoded(key) } };
}

export interface Range {
  readonly from: string;
  /** The first key that is beyond it. */
  readonly to: string;
  readonly limit?: number;
  readonly keysOnly?: boolean;
  readonly last?: boolean;
  /** Only what was not written since. */
  readonly mostRevision?: string | undefined;
}

export function range({ from, to, limit, keysOnly, last, mostRevision }: Range): Operation {
  return {
    request_range: {
      key: encoded(from),
      range_end: encoded(to),
      ...(limit !== undefined && { limit }),
      ...(keysOnly === true && { keys_only: true }),
      ...(last === true && { sort_order: 'DESCEND', sort_target: 'KEY' }),
      ...(mostRevision !== undefined && { max_mod_revision: mostRevision }),
    },
  };
}

export function all(prefix: string, options: Pick<Range, 'keysOnly'> = {}): Operation {
  return range({ from: prefix, to: afterPrefix(prefix), ...options });
}

export function remove(key: string): Operation {
  return { request_delete_range: { key: encoded(key) } };
}

export function removeRange(from: string, to: string): Operation {
  return { request_delete_range: { key: encoded(from), range_end: encoded(to) } };
}

/** The gateway leaves out what is false, zero or empty. */
export function transactionIn(answer: unknown): TransactionAnswer {
  const { header, succeeded, responses } = objectIn(answer);
  return {
    succeeded: succeeded === true,
    revision: textIn(objectIn(header)['revision']),
    found: listIn(responses).map((response) => ({
      kvs: listIn(objectIn(objectIn(response)['response_range'])['kvs']).map((kv) => keyValueIn(objectIn(kv))),
    })),
  };
}

function keyValueIn({ key, value, mod_revision: mod, lease }: Readonly<Record<string, unknown>>): KeyValue {
  return {
    key: decoded(key),
    value: decoded(value),
    mod: textIn(mod),
    lease: lease === undefined || lease === '0' ? undefined : textIn(lease),
  };
}
