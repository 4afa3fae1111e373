import type { Presences } from '../../lease/store';
import { deploymentsOf } from '../views/deployments';
import { layoutTroubles } from '../views/layouts';
import type { JobList } from '../views/list-jobs';
import { type Finding, ok, problem } from './finding';

/** Whether the accounts, this list of them and those of the deployments fit together. */
export function checkLayouts(
  location: string,
  { layouts, missing }: Pick<JobList, 'layouts' | 'missing'>,
  presences: Presences,
): readonly Finding[] {
  const here = layouts.accounts?.length ?? 1;
  const other = deploymentsOf(presences).deployments.filter(({ lately, accounts = 1 }) => lately && accounts !== here);
  const found = [
    ...missing.map((account) => problem('accounts', account.location, account.reason, 'its jobs do not run: check it')),
    ...layoutTroubles(location, layouts).map(({ reason, isForeign }) =>
      problem(
        'accounts',
        null,
        `${reason}: nothing is claimed there`,
        isForeign
          ? 'find out what wrote it, and run "cronlease shards --repair", or POST api/manage/layout/repair'
          : 'see "cronlease shards", and set CRONLEASE_SHARDS',
      ),
    ),
    ...other.map(({ name, accounts = 1 }) =>
      problem(
        'accounts',
        name,
        `deals its jobs over ${accounts} account(s), and this list has ${here}`,
        'give all deployments, and this command, the same CRONLEASE_SHARDS',
      ),
    ),
  ];
  if (found.length > 0 || here === 1) return found;
  return [ok('accounts', `the jobs are dealt over ${here} accounts, whose layouts fit`)];
}
