import * as z from 'zod';
import { defineFanOut, NonRetryableError } from '../../src/index';
import { sampleContainer } from './containers';

/** The most words to index of one text: an item's result has a limit. */
const WORDS_AT_MOST = 1_000;

/** The blob of the index. */
const TARGET = 'word-index.json';

/** The number of times that each word occurs in one text. */
type Counts = Readonly<Record<string, number>>;

/** Indexes the words of all sample texts: each text is an item, and the gathered index is written as JSON. */
export const wordIndex = defineFanOut({
  input: z.strictObject({
    /** The prefix of the texts' names. */
    prefix: z.string(),
  }),
  concurrency: 4,
  itemTimeout: '1m',
  itemRetry: { attempts: 3, backoff: '2s' },
  onItemFailure: 'collect',

  async plan({ signal, log }, { prefix }): Promise<readonly string[]> {
    const names: string[] = [];
    const client = sampleContainer('texts');
    if (!(await client.exists({ abortSignal: signal }))) return names;
    for await (const blob of client.listBlobsFlat({ prefix, abortSignal: signal })) names.push(blob.name);
    log(`${String(names.length)} texts begin with "${prefix}"`);
    return names;
  },

  async each({ signal }, name): Promise<Counts> {
    const blob = sampleContainer('texts').getBlobClient(name);
    const text = (await blob.downloadToBuffer(0, undefined, { abortSignal: signal })).toString('utf8');
    if (text.includes('\0')) throw new NonRetryableError(`${name} is not text`);
    return countWords(text);
  },

  async gather({ fence, signal, log, runId }, outcomes) {
    const index: Record<string, Record<string, number>> = Object.create(null) as Record<string, Record<string, number>>;
    const skipped: string[] = [];
    for (const outcome of outcomes) {
      if (outcome.state === 'failed') {
        skipped.push(`${outcome.item}: ${outcome.error.message}`);
        continue;
      }
      for (const [word, count] of Object.entries(outcome.result)) (index[word] ??= {})[outcome.item] = count;
    }
    const words = Object.fromEntries(Object.entries(index).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    const client = sampleContainer('reports');
    await client.createIfNotExists({ abortSignal: signal });
    await fence.write(client.getBlockBlobClient(TARGET), JSON.stringify({ runId, skipped, words }, undefined, 2), {
      contentType: 'application/json',
    });
    const result = {
      texts: outcomes.length - skipped.length,
      skipped: skipped.length,
      words: Object.keys(words).length,
    };
    log(`${String(result.words)} words of ${String(result.texts)} texts: reports/${TARGET}`);
    return result;
  },
});

function countWords(text: string): Counts {
  const counts = new Map<string, number>();
  for (const [word] of text.toLowerCase().matchAll(/\p{L}+/gu)) {
    if (counts.has(word) || counts.size < WORDS_AT_MOST) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}
