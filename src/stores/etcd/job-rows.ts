import { given } from '../../core/given';
import type { JobName } from '../../core/brand';
import type { JobRowStore, LeaseBreaking, ListedControl } from '../../lease/store';
import { listingOf } from '../facets/listing';
import type { Ask } from './ask';
import { headIn } from './entries';
import type { Keys } from './keys';
import { byName, leftOf, only, rangesOf, rowCalls, rowIn, rowsIn } from './rows';
import { all, type Found, get } from './wire';

/** The rows of jobs. One transaction lists them with their controls, as of one revision. */
export function jobRowsIn(
  ask: Ask,
  { jobs: keys, controls: { heads } }: Keys,
): Omit<JobRowStore & LeaseBreaking, 'location' | 'limits' | 'prepare'> {
  const controlsIn = (found: Found | undefined): ReadonlyMap<string, ListedControl> =>
    new Map([...byName(heads, found)].map(([name, kv]) => [name, headIn(kv)]));
  return {
    ...rowCalls(ask, keys),
    async list(options) {
      if (options?.job !== undefined) return listOne(options.job, options);
      const question = { what: 'list jobs', kind: 'listing', options } as const;
      const { date, found } = await ask.transact(question, { success: [...rangesOf(keys), all(heads)] });
      return listingOf(date, rowsIn(keys, found), controlsIn(found[3]), undefined);
    },
  };

  async function listOne(job: JobName, options: Parameters<JobRowStore['list']>[0]) {
    const question = { what: `list ${job}`, kind: 'listing', options } as const;
    const success = [keys.rows, keys.terms, keys.locks, heads].map((prefix) => get(`${prefix}${job}`));
    const { date, found } = await ask.transact(question, { success });
    const [row, terms, lock] = found.map(only);
    const seen = row && rowIn({ row, terms, lock });
    const leftMs = seen?.lease === 'leased' ? await leftOf(ask, question.what, lock?.lease, options) : undefined;
    const rows = new Map(seen && [[job, { ...seen, ...given({ leftMs }) }]]);
    return listingOf(date, rows, controlsIn(found[3]), job);
  }
}
