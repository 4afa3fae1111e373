import { randomUUID } from 'node:crypto';
import type { LogStore } from '../../lease/store';
import { checkLogText } from '../limits';
import { type TextRange, textsWithin } from '../port';
import { type Ask, asOfNow, DISTURBED, untilUndisturbed } from './ask';
import { created, PART_BYTES, slices } from './bodies';
import { makeFolders } from './entries';
import { CODE, NoContainerError } from './errors';
import { pageOf } from './folders';
import { foldersOf, pathOf, type Paths } from './paths';
import type { Op } from './protocol';
import type { Session } from './session';

/** A log's node lists its texts, each a node below it. A text that no log lists is what a lost append has left. */
interface LogData {
  readonly bytes: number;
  readonly texts: readonly (readonly [name: string, bytes: number])[];
}

const EMPTY: LogData = { bytes: 0, texts: [] };

export function logsIn(ask: Ask, paths: Paths): LogStore {
  const folderOf = paths.logs;
  return {
    async createLog(job, key, name, options) {
      const id = `${key}/${name}`;
      const question = { what: `create log ${id} of ${job}`, kind: 'write', options } as const;
      return ask({ ...question, isNothing: (answer) => answer === 'exists' }, async (session) => {
        const ops: Op[] = [{ kind: 'create', path: pathOf(folderOf(job), id), data: dataOf(EMPTY) }];
        let answer = await session.multi(ops);
        if (answer.kind === 'refused' && answer.code === CODE.noNode) {
          await makeFolders(session, foldersOf(folderOf(job), id));
          answer = await session.multi(ops);
        }
        if (answer.kind === 'done') return 'created';
        if (answer.code === CODE.nodeExists) return 'exists';
        throw new NoContainerError();
      });
    },
    async appendLog(job, key, name, { text, at }, options) {
      checkLogText(text);
      const id = `${key}/${name}`;
      const question = { what: `append to log ${id} of ${job}`, kind: 'append', options } as const;
      return ask({ ...question, isNothing: (answer) => answer === 'refused' }, async (session) => {
        const path = pathOf(folderOf(job), id);
        const [, node] = await asOfNow(session, paths.now, () => session.get(path));
        const log = node === undefined ? undefined : logIn(node.data);
        if (node === undefined || log?.bytes !== at) return 'refused';
        const texts = newTexts(path, text);
        const last = texts.ops.at(-1);
        await Promise.all(texts.ops.slice(0, -1).map((op) => created(session, [op])));
        const data = dataOf({ bytes: at + text.length, texts: [...log.texts, ...texts.listed] });
        const set: Op = { kind: 'set', path, data, version: node.stat.version };
        const answer = await session.multi(last === undefined ? [set] : [last, set]);
        return answer.kind === 'done' ? 'appended' : 'refused';
      });
    },
    async readLog(job, key, name, range, options) {
      const id = `${key}/${name}`;
      const question = { what: `read log ${id} of ${job}`, kind: 'read', options } as const;
      return ask({ ...question, isNothing: (found) => found === undefined }, (session) =>
        untilUndisturbed(async () => {
          const path = pathOf(folderOf(job), id);
          const [, node] = await asOfNow(session, paths.now, () => session.get(path));
          return node === undefined ? undefined : readRange(session, path, logIn(node.data), range);
        }),
      );
    },
    async listLogs(job, key, { limit, continuation }, options) {
      const prefix = `${key}/`;
      const question = { what: `list the logs of run ${key} of ${job}`, kind: 'listing', options } as const;
      return ask(question, async (session) => {
        const after = continuation === undefined ? undefined : `${prefix}${continuation}`;
        const page = await pageOf(session, paths.now, folderOf(job), { prefix, limit, continuation: after });
        const nodes = await Promise.all(page.ids.map((id) => session.get(pathOf(folderOf(job), id))));
        const logs = page.ids.flatMap((id, index) => {
          const node = nodes[index];
          return node === undefined ? [] : [{ name: id.slice(prefix.length), bytes: logIn(node.data).bytes }];
        });
        return { logs, continuation: page.continuation?.slice(prefix.length) };
      });
    },
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
