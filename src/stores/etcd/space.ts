import type { Durability } from '../../lease/trial';
import { listIn, objectIn, textIn } from '../http/json';
import { told } from '../metered';
import type { Cluster } from './ask';

/** From this share of its quota on, a database deserves a warning. */
const FULL = 0.8;
const MEGABYTE = 1024 * 1024;

/** Reads whether the cluster refuses writes, or soon will. A user without the right to ask gets a warning that says so. */
export async function durabilityOf(cluster: Cluster): Promise<Durability> {
  const ask = (path: string, request: object): Promise<unknown> =>
    told(cluster, `ask for ${path}`, async (signal) => (await cluster.exchange(path, request, signal)).json);
  const alarms = await ask('maintenance/alarm', { action: 'GET' });
  const status = await ask('maintenance/status', {});
  return { risks: [...alarmRisks(alarms), ...sizeRisk(status), ...versionRisk(status)] };
}

type Risks = Durability['risks'];

/** @param answer undefined: it was refused */
export function alarmRisks(answer: unknown): Risks {
  if (answer === undefined) {
    const message = 'is unknown, because this user may not ask the cluster for its alarms';
    return [{ isProblem: false, message, remedy: 'see for yourself: etcdctl alarm list, as root' }];
  }
  const found = new Set(listIn(objectIn(answer)['alarms']).map((alarm) => textIn(objectIn(alarm)['alarm'])));
  return [
    ...(found.has('NOSPACE')
      ? [
          {
            isProblem: true,
            message: 'the cluster has used up its space (alarm NOSPACE) and refuses every write',
            remedy: 'compact and defragment it, then etcdctl alarm disarm; set auto-compaction-retention',
          },
        ]
      : []),
    ...(found.has('CORRUPT')
      ? [
          {
            isProblem: true,
            message: 'a member has other data than the rest (alarm CORRUPT), so reads may be wrong',
            remedy: 'replace that member: etcdctl alarm list names it',
          },
        ]
      : []),
  ];
}

/**
 * @param answer undefined: it was refused
 * @see https://etcd.io/docs/v3.5/op-guide/maintenance/#space-quota
 */
export function sizeRisk(answer: unknown): Risks {
  if (answer === undefined) return [];
  const status = objectIn(answer);
  // Members before 3.6 do not tell their quota.
  const quota = Number(textIn(status['dbSizeQuota']));
  const size = Number(textIn(status['dbSize']));
  if (!(quota > 0) || !(size >= quota * FULL)) return [];
  const share = `${megabytes(size)} of ${megabytes(quota)} MB`;
  const message = `the database of a member uses ${share}; at its quota the cluster refuses every write`;
  const remedy = 'compact and defragment it, and set auto-compaction-retention; or raise quota-backend-bytes';
  return [{ isProblem: false, message, remedy }];
}

/**
 * Whether the member may answer that a lease lasts forever, around a change of leader.
 *
 * @param answer undefined: it was refused
 * @see https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-3.5.md#v3514-2024-05-29
 */
export function versionRisk(answer: unknown): Risks {
  const version = textIn(objectIn(answer)['version']);
  const [, line = '', patch = ''] = /^(3\.[45])\.(\d+)/.exec(version) ?? [];
  if (line === '' || Number(patch) >= (line === '3.4' ? 32 : 14)) return [];
  const message = `a member has version ${version}, which answers around a change of leader that a lease never ends`;
  const remedy =
    'update the members to 3.4.32, 3.5.14 or later; until then cronlease trusts no lease beyond its length';
  return [{ isProblem: false, message, remedy }];
}

function megabytes(bytes: number): string {
  return String(Math.round(bytes / MEGABYTE));
}
