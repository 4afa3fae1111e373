import { randomBytes } from 'node:crypto';
import { BODY_BYTES } from '../limits';
import {
  type Condition,
  type EntriesQuestion,
  type Entries,
  type Head,
  afterPrefix,
  etagOf,
  headOf,
  pageOf,
} from '../port';
import type { Ask } from './ask';
import type { EntryKeys } from './keys';
import { only, revisionOf } from './rows';
import {
  afterKey,
  all,
  type Compare,
  get,
  hasRevision,
  isAbsent,
  isThere,
  keep,
  type KeyValue,
  put,
  range,
  remove,
  removeRange,
  type TransactionAnswer,
} from './wire';

/** A request may have 1.5 MB, unless the cluster's max-request-bytes is another. */
export const PART_BYTES = 1024 * 1024;

/** The parts of a body that nothing refers to are removed after this long. */
const UPLOAD_SECONDS = 600;

/** What a body's value begins with: the body itself, or the name and number of its parts. */
const WHOLE = '=';
const PARTS = '+';

export function entriesIn(ask: Ask): Entries<EntryKeys> {
  return {
    async put({ id, condition, metadata, body, ...question }) {
      const { heads, bodies } = question.keys;
      const at = await ask.now(question.options);
      const uploaded = body === undefined ? [] : await bodyOperations(ask, question, `${bodies}${id}`, body);
      const { succeeded, revision } = await ask.transact(question, {
        compare: comparesOf(`${heads}${id}`, condition),
        success: [put(`${heads}${id}`, JSON.stringify({ at, metadata })), ...uploaded],
      });
      return succeeded ? etagOf(revision) : undefined;
    },
    async get({ id, ...question }) {
      const { heads, bodies } = question.keys;
      const success = [get(`${heads}${id}`), get(`${bodies}${id}`)];
      const isNothing = (answer: TransactionAnswer): boolean => answer.found[0]?.kvs.length === 0;
      const { date: now, found } = await ask.transact(question, { success }, isNothing);
      const [head, body] = found.map(only);
      if (head === undefined) return { now, head: undefined, body: undefined };
      return { now, head: headIn(head), body: body && (await wholeOf(ask, question, body)) };
    },
    async page({ prefix = '', limit, continuation, keys: { heads }, ...question }) {
      const isFirst = continuation === undefined || continuation < prefix;
      const from = isFirst ? `${heads}${prefix}` : afterKey(`${heads}${continuation}`);
      const success = [range({ from, to: afterPrefix(`${heads}${prefix}`), limit: limit + 1 })];
      const { date: now, found: ranges } = await ask.transact(question, { success });
      const found = (ranges[0]?.kvs ?? []).map((kv) => ({ id: kv.key.slice(heads.length), ...headIn(kv) }));
      return { now, ...pageOf(found, limit) };
    },
    async all({ keys: { heads }, ...question }) {
      const { date: now, found } = await ask.transact(question, { success: [all(heads)] });
      return { now, found: new Map(found[0]?.kvs.map((kv) => [kv.key.slice(heads.length), headIn(kv)])) };
    },
    async remove({ id, ifMatch, keys, ...question }) {
      const condition = ifMatch === undefined ? 'there' : { version: ifMatch };
      const compare = comparesOf(`${keys.heads}${id}`, condition);
      return (await ask.transact(question, { compare, success: removalOf(keys, id) })).succeeded;
    },
  };
}

function comparesOf(key: string, condition: Condition): Compare[] {
  switch (condition) {
    case 'absent':
      return [isAbsent(key)];
    case 'there':
      return [isThere(key)];
    case 'any':
      return [];
    default:
      return [hasRevision(key, revisionOf(condition.version))];
  }
}

/** All keys of an entry: its head, its body and the parts of that. */
export function removalOf({ heads, bodies }: EntryKeys, id: string) {
  return [
    remove(`${heads}${id}`),
    remove(`${bodies}${id}`),
    removeRange(`${bodies}${id}/`, afterPrefix(`${bodies}${id}/`)),
  ];
}

/**
 * Writes a body that is too long for one request in parts, which end by themselves unless the operations returned take
 * place.
 */
async function bodyOperations(ask: Ask, question: EntriesQuestion<EntryKeys>, key: string, body: string) {
  const bytes = Buffer.from(body);
  if (bytes.length <= PART_BYTES) return [put(key, `${WHOLE}${body}`)];
  const name = randomBytes(9).toString('base64url');
  const count = Math.ceil(bytes.length / PART_BYTES);
  const parts = Array.from({ length: count }, (_, index) => partKey(key, name, index));
  const { lease } = await ask.grant(question, UPLOAD_SECONDS);
  for (const [index, part] of parts.entries()) {
    const piece = bytes.subarray(index * PART_BYTES, (index + 1) * PART_BYTES).toString('base64');
    await ask.transact(question, { success: [put(part, piece, lease)] });
  }
  return [put(key, `${PARTS}${name} ${String(count)}`), ...parts.map(keep)];
}

function partKey(key: string, name: string, index: number): string {
  return `${key}/${name}/${String(index).padStart(4, '0')}`;
}

/** Undefined: it is larger than any that cronlease writes. */
async function wholeOf(
  ask: Ask,
  { what, kind, options }: EntriesQuestion<EntryKeys>,
  { key, value }: KeyValue,
): Promise<string | undefined> {
  if (value.startsWith(WHOLE)) return value.slice(WHOLE.length);
  const [name = '', count = ''] = value.slice(PARTS.length).split(' ');
  if (Number(count) > BODY_BYTES / PART_BYTES + 1) return undefined;
  const { found } = await ask.transact({ what, kind, options }, { success: [all(`${key}/${name}/`)] });
  const parts = found[0]?.kvs ?? [];
  if (parts.length !== Number(count)) throw new Error(`${key} was replaced while it was read`);
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part.value, 'base64')));
  return bytes.length > BODY_BYTES ? undefined : bytes.toString('utf8');
}

export function headIn({ key, value, mod }: KeyValue): Head {
  return headOf(key, value, mod);
}
