import type { Trial } from '../../lease/trial';
import { tryRows } from '../row-trial';
import { type Ask, asker, type Server } from './ask';
import { lookForLayout } from './layout';
import type { Paths } from './paths';
import { NO_VERSION } from './protocol';
import { nodesOf, rowCalls } from './rows';

/** Tries each kind of call on a row of its own among the elections, which no tick reads, and removes that. */
export function trialOn(server: Server, paths: Paths, id: string): Promise<Trial> {
  const ask = asker(server);
  return tryRows(
    {
      rows: rowCalls(ask, paths, paths.elections),
      clock: server.clock,
      nouns: { object: 'node', place: 'container' },
      remedies: REMEDIES,
      look: () => lookAt(ask, server, paths),
      deleteRow: (name) =>
        ask({ what: 'delete the row of a trial', kind: 'delete', options: undefined }, (session) => {
          const { row, lease } = nodesOf(paths.elections, name);
          return session.multi([lease, row].map((path) => ({ kind: 'delete', path, version: NO_VERSION })));
        }),
    },
    id,
  );
}

async function lookAt(ask: Ask, { clock }: Server, paths: Paths) {
  const question = { what: 'look for the container', kind: 'listing', options: undefined } as const;
  const now = await ask(question, (session) => lookForLayout(session, paths));
  // Without a container there is nothing to write, and so no time.
  return { isThere: now !== undefined, date: now ?? clock.now(), cutMs: 0 };
}

const REMEDIES: Trial['remedies'] = {
  noToken: 'name a URL with a user and a password',
  network: 'let this address through the firewall of the servers',
  credentials: 'check the user and the password of the URL',
  role: 'use the user and the password that have created the container',
  versions: 'none: nodes keep no older versions',
};
