import type { Durability } from '../../lease/trial';

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
  // A key without an expiry is safe from these, until somebody gives it one.
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
