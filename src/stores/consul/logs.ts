import { randomUUID } from 'node:crypto';
import type { EpochMs, JobName } from '../../core/brand';
import type { LogStore } from '../../lease/store';
import { checkLogText } from '../limits';
import { type TextRange, textsWithin } from '../port';
import { type Ask, type Calls, DISTURBED, untilUndisturbed } from './ask';
import { PART_BYTES } from './bodies';
import { divisionsOf } from './entries';
import { bodyKey, type EntryKeys, headKey, idIn, type Keys, mayHold, startIn } from './keys';
import { create, get, hasIndex, type KeyValue, OPERATIONS, replace, set, tree } from './wire';

/** What a log's head has: its texts in order, each in its own key that is never rewritten. */
interface LogData {
  readonly at: EpochMs;
  readonly texts: readonly (readonly [name: string, bytes: number])[];
}

const TEXTS_AT_ONCE = OPERATIONS - 4;

export function logsIn(ask: Ask, { logs }: Keys): LogStore {
  const named = (job: JobName, key: string, name: string) => {
    const id = `${key}/${name}`;
    return { id, head: headKey(logs(job), id), texts: bodyKey(logs(job), id) };
  };
  return {
    async createLog(job, key, name, options) {
      const { id, head } = named(job, key, name);
      const question = { what: `create log ${id} of ${job}`, kind: 'write', options } as const;
      return ask({ ...question, isNothing: (answer) => answer === 'exists' }, async (calls) => {
        const { found } = await calls.transact(create(head, dataOf({ at: await calls.now(), texts: [] })));
        return found === undefined ? 'exists' : 'created';
      });
    },
    async appendLog(job, key, name, { text, at }, options) {
      checkLogText(text);
      const { id, head, texts } = named(job, key, name);
      const question = { what: `append to log ${id} of ${job}`, kind: 'append', options } as const;
      return ask({ ...question, isNothing: (answer) => answer === 'refused' }, async (calls) => {
        const seen = await headAt(calls, head);
        const log = seen && logIn(seen);
        if (seen === undefined || log === undefined || bytesOf(log) !== at) return 'refused';
        const added: (readonly [name: string, bytes: number])[] = [];
        for (let from = 0; from < text.length; from += PART_BYTES) {
          const part = text.slice(from, from + PART_BYTES);
          added.push([randomUUID(), part.length]);
          const put = set(`${texts}${added.at(-1)?.[0] ?? ''}/`, part);
          if (from + part.length < text.length) {
            await calls.transact(hasIndex(seen), put);
            continue;
          }
          const data = dataOf({ at: await calls.now(), texts: [...log.texts, ...added] });
          const { found } = await calls.transact(replace(seen, data), put);
          return found === undefined ? 'refused' : 'appended';
        }
        return 'refused';
      });
    },
    async readLog(job, key, name, range, options) {
      const { id, head, texts } = named(job, key, name);
      const question = { what: `read log ${id} of ${job}`, kind: 'read', options } as const;
      return ask({ ...question, isNothing: (found) => found === undefined }, (calls) =>
        untilUndisturbed(async () => {
          const seen = await headAt(calls, head);
          return seen && readRange(calls, texts, logIn(seen), range);
        }),
      );
    },
    async listLogs(job, key, { limit, continuation = '' }, options) {
      const prefix = `${key}/`;
      const question = { what: `list the logs of run ${key} of ${job}`, kind: 'listing', options } as const;
      return ask(question, async (calls) => {
        const found = await headsOf(calls, logs(job), prefix);
        const named = found.map((kv) => ({ name: idIn(logs(job), kv.key).slice(prefix.length), log: logIn(kv) }));
        const inOrder = named
          .filter(({ name }) => continuation === '' || name > continuation)
          .toSorted((a, b) => (a.name < b.name ? -1 : 1));
        const page = inOrder.slice(0, limit).map(({ name, log }) => ({ name, bytes: bytesOf(log) }));
        return { logs: page, continuation: inOrder.length > limit ? page.at(-1)?.name : undefined };
      });
    },
  };
}

async function headAt(calls: Calls, head: string): Promise<KeyValue | undefined> {
  const { found = [] } = await calls.transact(tree(head));
  return found.find(({ key }) => key === head);
}

/** The heads of one run's logs, which are few. */
async function headsOf(calls: Calls, keys: EntryKeys, prefix: string): Promise<readonly KeyValue[]> {
  const divisions = (await divisionsOf(calls, keys)).filter((key) => mayHold(startIn(keys.heads, key), prefix, ''));
  // Even without any, the container must be there.
  const { found = [] } = await calls.transact(...divisions.map((division) => tree(`${division}${prefix}`)));
  return found;
}

/** {@link DISTURBED}: retention has deleted a text meanwhile. */
async function readRange(
  calls: Calls,
  place: string,
  { texts }: LogData,
  range: TextRange,
): Promise<string | typeof DISTURBED> {
  const { names, cut } = textsWithin(texts, range);
  let text = '';
  for (let at = 0; at < names.length; at += TEXTS_AT_ONCE) {
    const some = names.slice(at, at + TEXTS_AT_ONCE);
    const { found } = await calls.transact(...some.map((name) => get(`${place}${name}/`)));
    if (found === undefined) return DISTURBED;
    text += found.map(({ value }) => value).join('');
  }
  return cut(text);
}

function bytesOf({ texts }: LogData): number {
  return texts.reduce((sum, [, bytes]) => sum + bytes, 0);
}

export function logIn({ value }: KeyValue): LogData {
  return JSON.parse(value) as LogData;
}

function dataOf(log: LogData): string {
  return JSON.stringify(log);
}
