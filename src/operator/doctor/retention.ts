import type { JobsFile } from '../../core/job';
import { formatDuration } from '../../core/duration';
import type { LeaseStore } from '../../lease/store';
import { type Finding, ok } from './finding';

/** Says what deletes old records. Only the management plane of Azure knows whether a lifecycle rule does so, too. */
export function checkRetention(store: LeaseStore, file: JobsFile | undefined): readonly Finding[] {
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
