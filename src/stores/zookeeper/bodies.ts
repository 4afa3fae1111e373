import { randomUUID } from 'node:crypto';
import type { Metadata } from '../../lease/store';
import { DISTURBED } from '../lease-automaton';
import { BODY_BYTES } from '../limits';
import { refusalOf } from './errors';
import type { Paths } from './paths';
import { NO_VERSION, type Op } from './protocol';
import type { Session } from './session';

/**
 * A server refuses a request of 1 MB (`jute.maxbuffer`), and closes the connection. A body of more than this lies in
 * parts, each a node, which are written before the entry that names them.
 */
const INLINE_BYTES = 16 * 1024;
export const PART_BYTES = 512 * 1024;

/** The first line of an entry's node, as JSON. What follows the line is the body. */
interface Header {
  readonly metadata: Metadata;
  /** Where the body is if it is not here. */
  readonly parts?: Parts;
}

interface Parts {
  readonly id: string;
  readonly count: number;
  readonly bytes: number;
}

export interface Content {
  readonly metadata: Metadata;
  readonly parts: Parts | undefined;
  /** The body, if it is in the node. */
  readonly inline: Buffer;
}

/** @throws Error if the node is not one of ours */
export function contentIn(data: Buffer): Content {
  const end = data.indexOf('\n');
  if (end === -1) throw new Error('a node of cronlease in ZooKeeper has foreign content');
  const { metadata, parts } = JSON.parse(data.toString('utf8', 0, end)) as Header;
  return { metadata, parts, inline: data.subarray(end + 1) };
}

export function dataOf({ metadata, parts, inline }: Content): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ metadata, parts })}\n`), inline]);
}

/** Writes the parts of a body, if it needs any. */
export async function storeBody(
  session: Session,
  paths: Paths,
  owner: string,
  body: string,
): Promise<Pick<Content, 'parts' | 'inline'>> {
  const bytes = Buffer.from(body);
  if (bytes.length <= INLINE_BYTES) return { parts: undefined, inline: bytes };
  const pieces = slices(bytes);
  const parts = { id: randomUUID(), count: pieces.length, bytes: bytes.length };
  const folder = `${paths.parts}/${parts.id}`;
  // Retention finds the owner here, and deletes the parts of one that was never written.
  await created(session, [{ kind: 'create', path: folder, data: Buffer.from(owner) }]);
  await Promise.all(
    pieces.map((data, index) => created(session, [{ kind: 'create', path: `${folder}/${index}`, data }])),
  );
  return { parts, inline: Buffer.alloc(0) };
}

export function slices(bytes: Buffer): readonly Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / PART_BYTES) }, (_, index) =>
    bytes.subarray(index * PART_BYTES, (index + 1) * PART_BYTES),
  );
}

/** @throws NoNodeError */
export async function created(session: Session, ops: readonly Op[]): Promise<void> {
  const answer = await session.multi(ops);
  if (answer.kind === 'refused') throw refusalOf(answer.code);
}

/** Undefined: larger than any that cronlease writes. {@link DISTURBED}: deleted meanwhile, as the body of a replaced entry is. */
export async function loadBody(
  session: Session,
  paths: Paths,
  { parts, inline }: Content,
): Promise<string | undefined | typeof DISTURBED> {
  if (parts === undefined) return inline.toString();
  if (parts.bytes > BODY_BYTES) return undefined;
  const folder = `${paths.parts}/${parts.id}`;
  const found = await Promise.all(Array.from({ length: parts.count }, (_, index) => session.get(`${folder}/${index}`)));
  const pieces = found.flatMap((node) => (node === undefined ? [] : [node.data]));
  return pieces.length === parts.count ? Buffer.concat(pieces).toString() : DISTURBED;
}

/** Deletes the parts of a body that no entry names any more. */
export async function dropBody(session: Session, paths: Paths, parts: Parts | undefined): Promise<void> {
  if (parts !== undefined) await dropFolder(session, `${paths.parts}/${parts.id}`);
}

/** Deletes a node with those in it. Another writer may do the same. */
export async function dropFolder(session: Session, folder: string): Promise<void> {
  const names = (await session.children(folder)) ?? [];
  const paths = [...names.map((name) => `${folder}/${name}`), folder];
  await Promise.all(paths.map((path) => session.multi([{ kind: 'delete', path, version: NO_VERSION }])));
}
