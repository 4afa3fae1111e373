import { randomUUID } from 'node:crypto';
import type { EpochMs } from '../../core/brand';
import { BODY_BYTES } from '../limits';
import type { Calls } from './ask';
import { bodyKey, type EntryKeys, type Keys } from './keys';
import { create, type KeyValue, type Operation, remove, removeTree, set } from './wire';

/** A transaction may have 512 KB, and so may a value, both in base64. */
export const PART_BYTES = 256 * 1024;

/** What a body's value begins with: the body itself, or the name and number of its parts, which lie below it. */
const WHOLE = '=';
const PARTS = '+';

/** What is known of a body that is being written in parts, by the name of the parts. */
interface Upload {
  readonly at: EpochMs;
  readonly body: string;
}

/**
 * The operations that write a body with its entry. What is too long for one transaction is written in parts before,
 * with a note for retention, which the operations remove.
 */
export async function bodyOperations(
  calls: Calls,
  { uploads }: Keys,
  {
    keys,
    id,
    body,
    at,
  }: { readonly keys: EntryKeys; readonly id: string; readonly body: string; readonly at: EpochMs },
): Promise<readonly Operation[]> {
  const key = bodyKey(keys, id);
  const bytes = Buffer.from(body);
  if (bytes.length <= PART_BYTES) return [removeTree(key), set(key, `${WHOLE}${body}`)];
  const name = randomUUID();
  const note = `${uploads}${name}/`;
  const upload: Upload = { at, body: key };
  await calls.transact(create(note, JSON.stringify(upload)));
  const count = Math.ceil(bytes.length / PART_BYTES);
  for (let index = 0; index < count; index += 1) {
    const part = bytes.subarray(index * PART_BYTES, (index + 1) * PART_BYTES).toString('base64');
    await calls.transact(set(partKey(key, name, index), part));
  }
  return [set(key, `${PARTS}${name} ${String(count)}`), remove(note)];
}

function partKey(key: string, name: string, index: number): string {
  return `${key}${name}/${String(index).padStart(4, '0')}/`;
}

/** Undefined: there is none, or it is larger than any that cronlease writes. */
export function bodyIn(key: string, found: readonly KeyValue[]): string | undefined {
  const values = new Map(found.map((kv) => [kv.key, kv.value]));
  const value = values.get(key);
  if (value === undefined || value.startsWith(WHOLE)) return value?.slice(WHOLE.length);
  const [name = '', count = ''] = value.slice(PARTS.length).split(' ');
  const parts = Array.from({ length: Number(count) }, (_, index) => values.get(partKey(key, name, index)));
  const bytes = Buffer.concat(parts.map((part) => Buffer.from(part ?? '', 'base64')));
  return bytes.length > BODY_BYTES || parts.includes(undefined) ? undefined : bytes.toString('utf8');
}

/** The parts that were written long ago for an entry that never was: removed, with the notes of them. */
export function abandoned({ uploads }: Keys, found: readonly KeyValue[], before: EpochMs): readonly Operation[] {
  return found.flatMap(({ key, value }) => {
    const { at, body } = JSON.parse(value) as Upload;
    return at > before ? [] : [removeTree(`${body}${key.slice(uploads.length)}`), remove(key)];
  });
}
