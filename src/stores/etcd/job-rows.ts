import type { JobName } from '../../core/brand';
import { FLEET } from '../../core/fleet';
import { LAYOUT } from '../../core/layout';
import type { JobRowStore, LeaseBreaking, ListedControl, ListedJob, ListedRow } from '../../lease/store';
import type { Ask } from './ask';
import { headIn } from './entries';
import type { Keys } from './keys';
import { byName, leftOf, only, rangesOf, rowCalls, rowIn, rowsIn } from './rows';
import { all, get, type KeyValue } from './wire';

/** The rows of jobs. One transaction lists them with their controls, as of one revision. */
export function jobRowsIn(
  ask: Ask,
  { jobs: keys, controls: { heads } }: Keys,
): Omit<JobRowStore & LeaseBreaking, 'location' | 'limits' | 'prepare'> {
  return {
    ...rowCalls(ask, keys),
    async list(options) {
      if (options?.job !== undefined) return listOne(options.job, options);
      const question = { what: 'list jobs', kind: 'listing', options } as const;
      const { date, found } = await ask.transact(question, { success: [...rangesOf(keys), all(heads)] });
      const rows = rowsIn(keys, found);
      const controls = byName(heads, found[3]);
      const jobs = new Map<JobName, ListedJob>();
      for (const name of new Set([...rows.keys(), ...controls.keys()]) as Set<JobName>) {
        if (name !== FLEET && name !== LAYOUT) jobs.set(name, { ...both(rows.get(name), controls.get(name)), date });
      }
      const [fleet, layout] = [controlIn(controls.get(FLEET)), controlIn(controls.get(LAYOUT))];
      return { date, jobs, ...(fleet && { fleet }), ...(layout && { layout }) };
    },
  };

  async function listOne(job: JobName, options: Parameters<JobRowStore['list']>[0]) {
    const question = { what: `list ${job}`, kind: 'listing', options } as const;
    const success = [keys.rows, keys.terms, keys.locks, heads].map((prefix) => get(`${prefix}${job}`));
    const { date, found } = await ask.transact(question, { success });
    const [row, terms, lock, control] = found.map(only);
    const jobs = new Map<JobName, ListedJob>();
    if (row === undefined && control === undefined) return { date, jobs };
    const seen = row && rowIn({ row, terms, lock });
    const leftMs = seen?.lease === 'leased' ? await leftOf(ask, question.what, lock?.lease, options) : undefined;
    jobs.set(job, { ...both(seen && { ...seen, ...(leftMs !== undefined && { leftMs }) }, control), date });
    return { date, jobs };
  }
}

function both(row: ListedRow | undefined, control: KeyValue | undefined): Omit<ListedJob, 'date'> {
  return { ...(row && { row }), ...(control && { control: controlOf(control) }) };
}

function controlIn(kv: KeyValue | undefined): ListedControl | undefined {
  return kv && controlOf(kv);
}

function controlOf(kv: KeyValue): ListedControl {
  const { etag, metadata } = headIn(kv);
  return { etag, metadata };
}
