import type { Trial } from '../../lease/trial';
import { tryRows } from '../row-trial';
import { asker, type Cluster } from './ask';
import { rowKeys } from './keys';
import { lookForLayout } from './layout';
import { rowCalls } from './rows';
import { removeTree } from './wire';

/**
 * Tries each kind of call on a row of its own. Never rejects with a `StoreError`.
 *
 * @param folder which no tick reads: that of elections
 */
export function trialOn(cluster: Cluster, folder: string, id: string): Promise<Trial> {
  const ask = asker(cluster);
  return tryRows(
    {
      rows: rowCalls({ ask, clock: cluster.clock, folder }),
      clock: cluster.clock,
      nouns: { object: 'row', place: 'container' },
      remedies: REMEDIES,
      // The date is cut to whole seconds.
      look: async () => ({ ...(await lookForLayout(ask, cluster.layout)), cutMs: 500 }),
      deleteRow: (name) =>
        ask({ what: 'delete the row of a trial', kind: 'delete', options: undefined }, (calls) =>
          calls.transact(removeTree(rowKeys(folder, name).row)),
        ),
    },
    id,
  );
}

const REMEDIES: Trial['remedies'] = {
  noToken: 'name a URL with a token of the ACL',
  network: 'let this address through the firewall of the agents',
  credentials: 'check the token of the URL',
  role: 'grant this token a policy that may write the keys of the container, its node and sessions on that',
  versions: 'none: Consul keeps no old values',
};
