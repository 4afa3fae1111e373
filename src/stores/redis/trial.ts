import type { Durability, Trial } from '../../lease/trial';
import { tryRows } from '../row-trial';
import { type Server, asker, told } from './ask';
import type { RowKeys } from './keys';
import { lookForLayout } from './layout';
import { rowCalls } from './rows';
import { script } from './scripts';

const DELETE = script('shrink', `return redis.call('HDEL', KEYS[2], ARGV[1]) + redis.call('HDEL', KEYS[3], ARGV[1])`);

/** Tries each kind of call on a row of these. Never rejects with a `StoreError`. */
export async function trialOn(server: Server, keys: RowKeys, id: string): Promise<Trial> {
  const ask = asker(server);
  const trial = await tryRows(
    {
      rows: rowCalls(ask, keys),
      clock: server.clock,
      nouns: { object: 'row', place: 'container' },
      remedies: REMEDIES,
      async look() {
        const { isThere, now } = await lookForLayout(ask);
        return { isThere, date: now, cutMs: 0 };
      },
      deleteRow: (name) => {
        const question = { what: 'delete the row of a trial', kind: 'delete', keys, options: undefined } as const;
        return ask({ ...question, script: DELETE, args: [name] });
      },
    },
    id,
  );
  if (trial.answeredInMs === undefined) return trial;
  const info = await told(server, 'read the settings of the server', 'INFO');
  return { ...trial, durability: durabilityIn(info) };
}

const REMEDIES: Trial['remedies'] = {
  noToken: 'sign in with "az login", or name a URL with a password',
  network: 'let this address through the firewall of the server',
  credentials: 'check the user and the password of the URL',
  role: 'grant this user the commands and keys that docs/reference/stores.md names',
  versions: 'none: keys have no versions',
};

/**
 * How the server's settings may lose rows with their tokens.
 *
 * @param info the server's answer to INFO; undefined: it was refused
 */
export function durabilityIn(info: string | undefined): Durability {
  if (info === undefined) {
    return {
      risks: [
        {
          isProblem: false,
          message: 'is unknown, because this user may not read the settings of the server with INFO',
          remedy: 'see for yourself that maxmemory-policy is noeviction and appendonly is yes, or allow INFO',
        },
      ],
    };
  }
  const valueOf = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1];
  const policy = valueOf('maxmemory_policy') ?? 'unknown';
  const risks = [...evictionRisk(policy), ...appendRisk(valueOf('aof_enabled'))];
  return { risks };
}

function evictionRisk(policy: string): Durability['risks'] {
  if (policy === 'noeviction') return [];
  const remedy = 'set maxmemory-policy to noeviction';
  // A key without an expiry is safe from these, until it is given one.
  if (policy.startsWith('volatile-')) {
    return [
      { isProblem: false, message: `maxmemory-policy is ${policy}, which spares keys without an expiry`, remedy },
    ];
  }
  const message = `maxmemory-policy is ${policy}: a full server deletes rows with their tokens, and jobs run twice`;
  return [{ isProblem: true, message, remedy }];
}

function appendRisk(enabled: string | undefined): Durability['risks'] {
  if (enabled === '1') return [];
  const message = 'appendonly is no: a server that ends loses everything since its last snapshot';
  return [{ isProblem: false, message, remedy: 'set appendonly to yes, and appendfsync to everysec or always' }];
}
