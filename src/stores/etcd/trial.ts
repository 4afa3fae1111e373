import type { Trial } from '../../lease/trial';
import { tryRows } from '../row-trial';
import { asker, type Cluster } from './ask';
import type { RowKeys } from './keys';
import { lookForLayout } from './layout';
import { removalOf, rowCalls } from './rows';
import { durabilityOf } from './space';

/** Tries each kind of call on a row of these. Never rejects with a `StoreError`. */
export async function trialOn(cluster: Cluster, keys: RowKeys, id: string): Promise<Trial> {
  const ask = asker(cluster);
  const trial = await tryRows(
    {
      rows: rowCalls(ask, keys),
      clock: cluster.clock,
      nouns: { object: 'row', place: 'container' },
      remedies: REMEDIES,
      // The date is cut to whole seconds.
      look: async () => ({ ...(await lookForLayout(ask, cluster.layout)), cutMs: 500 }),
      deleteRow: (name) => {
        const question = { what: 'delete the row of a trial', kind: 'delete', options: undefined } as const;
        return ask.transact(question, { success: removalOf(keys, name) });
      },
    },
    id,
  );
  return trial.answeredInMs === undefined ? trial : { ...trial, durability: await durabilityOf(cluster) };
}

const REMEDIES: Trial['remedies'] = {
  noToken: 'name a URL with a user and a password',
  network: 'let this address through the firewall of the cluster',
  credentials: 'check the user and the password of the URL',
  role: 'grant this user a role that may read and write the prefix of the container',
  versions: 'none: the cluster keeps old revisions until they are compacted',
};
