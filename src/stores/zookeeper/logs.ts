import { randomUUID } from 'node:crypto';
import { DISTURBED } from '../lease-automaton';
import { type Logs, type TextRange, textsWithin } from '../port';
import { type Ask, untilUndisturbed } from './ask';
import { created, PART_BYTES, slices } from './bodies';
import { createIn, pageOf } from './entries';
import { type Folder, foldersOf, pathOf } from './paths';
import type { Op } from './protocol';
import type { Session } from './session';

/** A log's node lists its texts, each a node below it. A text that no log lists is what a lost append has left. */
interface LogData {
  readonly bytes: number;
  readonly texts: readonly (readonly [name: string, bytes: number])[];
}

const EMPTY: LogData = { bytes: 0, texts: [] };

export function logsIn(ask: Ask): Logs<Folder> {
  return {
    create: ({ keys: folder, id, ...question }) =>
      ask(question, async (session) => {
        const by = await createIn(session, foldersOf(folder, id), pathOf(folder, id), dataOf(EMPTY));
        return by !== undefined;
      }),
    append: ({ keys: folder, id, text, at, ...question }) =>
      ask(question, async (session) => {
        const path = pathOf(folder, id);
        const [, node] = await session.asOfNow(() => session.get(path));
        const log = node === undefined ? undefined : logIn(node.data);
        if (node === undefined || log?.bytes !== at) return false;
        const texts = newTexts(path, text);
        const last = texts.ops.at(-1);
        await Promise.all(texts.ops.slice(0, -1).map((op) => created(session, [op])));
        const data = dataOf({ bytes: at + text.length, texts: [...log.texts, ...texts.listed] });
        const set: Op = { kind: 'set', path, data, version: node.stat.version };
        const answer = await session.multi(last === undefined ? [set] : [last, set]);
        return answer.kind === 'done';
      }),
    read: ({ keys: folder, id, from, limit, ...question }) =>
      ask(question, (session) =>
        untilUndisturbed(async () => {
          const path = pathOf(folder, id);
          const [, node] = await session.asOfNow(() => session.get(path));
          return node && readRange(session, path, logIn(node.data), { from, limit });
        }),
      ),
    page: ({ keys: folder, prefix, limit, continuation: after, ...question }) =>
      ask(question, async (session) => {
        const { ids, continuation } = await pageOf(session, folder, { prefix, limit, continuation: after });
        const nodes = await Promise.all(ids.map((id) => session.get(pathOf(folder, id))));
        const items = ids.flatMap((id, index) => {
          const node = nodes[index];
          return node === undefined ? [] : [{ id, bytes: logIn(node.data).bytes }];
        });
        return { items, continuation };
      }),
  };
}

function newTexts(path: string, text: string) {
  const pieces = text.length <= PART_BYTES ? [Buffer.from(text)] : slices(Buffer.from(text));
  const named = pieces.map((data) => ({ name: randomUUID(), data }));
  return {
    ops: named.map(({ name, data }): Op => ({ kind: 'create', path: `${path}/${name}`, data })),
    listed: named.map(({ name, data }) => [name, data.length] as const),
  };
}

/** {@link DISTURBED}: retention has deleted a text meanwhile. */
async function readRange(
  session: Session,
  path: string,
  { texts }: LogData,
  range: TextRange,
): Promise<string | typeof DISTURBED> {
  const { names, cut } = textsWithin(texts, range);
  const nodes = await Promise.all(names.map((name) => session.get(`${path}/${name}`)));
  if (nodes.includes(undefined)) return DISTURBED;
  return cut(Buffer.concat(nodes.flatMap((node) => (node === undefined ? [] : [node.data]))).toString('latin1'));
}

function logIn(data: Buffer): LogData {
  return JSON.parse(data.toString()) as LogData;
}

function dataOf(log: LogData): Buffer {
  return Buffer.from(JSON.stringify(log));
}
