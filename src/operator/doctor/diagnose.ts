import { formatDuration } from '../../core/duration';
import type { JobsFile } from '../../core/job';
import type { SecondAudit } from '../../lease/second-audit';
import { type LeaseStore, orStoreError, StoreDeniedError, StoreError } from '../../lease/store';
import type { Trial } from '../../lease/trial';
import { listJobs } from '../views/list-jobs';
import { checkCordons, checkDeployments, checkLayouts } from './deployments';
import { type Finding, ok, problem } from './finding';
import { checkJobs, fileRead, noFile } from './jobs';
import { checkStorage } from './storage';

export type FileSeen =
  | { readonly kind: 'read'; readonly source: string; readonly file: JobsFile }
  | { readonly kind: 'none' | 'wrong'; readonly reason: string };

export interface TriedAccount {
  readonly location: string;
  readonly trial: Trial;
}

/** Finds every cause, visible from outside, that may keep the jobs from running. Removes every object that it writes. */
export async function diagnose(
  store: LeaseStore,
  trials: readonly TriedAccount[],
  seen: FileSeen,
): Promise<readonly Finding[]> {
  const file = seen.kind === 'read' ? seen.file : undefined;
  const about = seen.kind === 'read' ? fileRead(seen.source, seen.file) : noFile(seen.reason, seen.kind === 'wrong');
  const storage = trials.flatMap(({ location, trial }) => checkStorage(location, trial));
  if (!trials.some(({ trial: { container, failures } }) => container === 'there' && !failures.has('list'))) {
    return [...storage, about];
  }
  const [list, presences] = await Promise.all([listJobs(store, file?.jobs ?? []), store.listPresences()]);
  return [
    ...storage,
    ...checkRetention(store, file),
    about,
    ...(await checkJobs({ store, file, list })),
    ...checkDeployments(presences, file),
    ...checkCordons(list.fleet, presences),
    ...checkLayouts(store.location, list, presences),
  ];
}

/** Says what deletes old records. Only the management plane of Azure knows whether a lifecycle rule does so, too. */
function checkRetention(store: LeaseStore, file: JobsFile | undefined): readonly Finding[] {
  // All accounts are of one kind.
  const [{ purge, purgesDaily } = store] = store.accounts ?? [];
  if (purge === undefined) return [];
  const keeps = (file?.jobs ?? []).map(({ keepMs }) => keepMs).toSorted((a, b) => a - b);
  const [least, most] = [keeps[0], keeps.at(-1)];
  const spans = [...new Set([least, most])].flatMap((ms) => (ms === undefined ? [] : [formatDuration(ms)]));
  const after = `after the "keep" of their job${spans.length === 0 ? '' : ` (${spans.join(' to ')})`}`;
  if (purgesDaily !== true) return [ok('retention', `instances delete records and logs ${after}, once an hour`)];
  const rule = 'A lifecycle rule of the account may delete them earlier: az storage account management-policy show';
  return [ok('retention', `instances delete records and logs ${after}, with one listing a day. ${rule}`)];
}

/** Whether the second place of audit entries answers. Nothing is written there: it could not be deleted again. */
export async function checkAudit(second: SecondAudit | undefined): Promise<readonly Finding[]> {
  if (second === undefined) return [];
  const page = await orStoreError(second.listAudits({ limit: 1 }));
  if (!(page instanceof StoreError)) {
    const newest = page.audits.length === 0 ? 'it has no entry yet' : 'it has entries';
    return [ok('audit', `${second.location} (CRONLEASE_AUDIT) answers; ${newest}`)];
  }
  const remedy =
    page instanceof StoreDeniedError
      ? 'assign the role of the audit account: until then, changes by people may be refused'
      : 'make it reachable, and its container if it is missing: until then, every change by a person is refused';
  return [problem('audit', null, `${second.location} (CRONLEASE_AUDIT): ${page.message}`, remedy)];
}
