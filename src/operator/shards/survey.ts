import type { EpochMs, ETag, JobName } from '../../core/brand';
import { type Layout, decodeLayout, isSameAccount, listHash, shardOf, formOf, movedTo } from '../../core/layout';
import { ForeignMetadataError } from '../../core/metadata';
import type { Listing } from '../../lease/store';
import { OperatorError } from '../operator-error';
import type { LeaseTaker } from '../operations/take-lease';
import { twoRows } from './move';

/** The accounts that a change of the list concerns. */
export interface Accounts {
  /** The new list. */
  readonly listed: readonly LeaseTaker[];
  /** Those of the former list that are not in the new one. */
  readonly leaving: readonly LeaseTaker[];
}

/** One account, as it is. */
export interface AccountSeen {
  readonly desk: LeaseTaker;
  readonly isListed: boolean;
  readonly listing: Listing;
  readonly layout: Layout | undefined;
  /** Whether something else wrote the layout: then it counts as missing, and is to be replaced. */
  readonly isForeign: boolean;
  readonly layoutEtag: ETag | undefined;
}

/** A job that lies in another account than the list deals it to. */
export interface Misplaced {
  readonly job: JobName;
  readonly from: AccountSeen;
  readonly to: AccountSeen;
}

export interface Survey {
  readonly accounts: readonly AccountSeen[];
  /** {@link listHash} of the new list. */
  readonly list: string;
  readonly misplaced: readonly Misplaced[];
  /** Jobs that no command can move, with reasons. */
  readonly problems: readonly OperatorError[];
  /** Whether every account has the layout of this list, and each job lies where it belongs. */
  readonly isSettled: boolean;
  readonly now: EpochMs;
}

/**
 * Looks at all accounts. Unlike status, it needs each of them: a change without one could leave a job in two places.
 *
 * @throws OperatorError `AccountMissing` if a layout names an account that is not among these
 * @throws StoreError, ForeignMetadataError
 */
export async function surveyAccounts({ listed, leaving }: Accounts): Promise<Survey> {
  const accounts = await Promise.all([
    ...listed.map((desk) => seeAccount(desk, true)),
    ...leaving.map((desk) => seeAccount(desk, false)),
  ]);
  const locations = listed.map(({ store }) => store.location);
  refuseMissing(accounts);
  const list = listHash(locations);
  const misplaced: Misplaced[] = [];
  const problems: OperatorError[] = [];
  const names = new Set(accounts.flatMap(({ listing }) => [...listing.jobs.keys()]));
  for (const job of [...names].sort()) {
    const to = accounts[shardOf(job, locations)];
    if (to === undefined) continue;
    const from = wayOf(accounts, job, to);
    if (from instanceof OperatorError) problems.push(from);
    else if (from !== undefined) misplaced.push({ job, from, to });
  }
  return {
    accounts,
    list,
    misplaced,
    problems,
    isSettled:
      misplaced.length === 0 && problems.length === 0 && accounts.every((account) => fits(account, list, locations)),
    now: Math.min(...accounts.map(({ listing }) => listing.date)),
  };
}

async function seeAccount(desk: LeaseTaker, isListed: boolean): Promise<AccountSeen> {
  await desk.store.prepare();
  const listing = await desk.store.list();
  const { layout: listed } = listing;
  const seen = { desk, isListed, listing, layoutEtag: listed?.etag };
  try {
    return { ...seen, layout: listed && decodeLayout(listed.metadata), isForeign: false };
  } catch (error) {
    if (!(error instanceof ForeignMetadataError)) throw error;
    return { ...seen, layout: undefined, isForeign: true };
  }
}

/** Rows may lie in any account that a layout names. */
function refuseMissing(accounts: readonly AccountSeen[]): void {
  for (const { layout, desk } of accounts) {
    const missing =
      layout?.left === true
        ? undefined
        : layout?.accounts.find((named) => !accounts.some(({ desk }) => isSameAccount(desk.store.location, named)));
    if (missing === undefined) continue;
    throw new OperatorError(
      'AccountMissing',
      `the layout in ${desk.store.location} names ${missing}, which may hold jobs. If it leaves the list, add ` +
        '--leaving with the name of the setting that holds its connection',
    );
  }
}

/**
 * The account from which a job has to move; undefined if nothing is left to do. A job has one row that counts: the live
 * one, or else the copy that was on its way when its original was marked as moved.
 */
function wayOf(
  accounts: readonly AccountSeen[],
  job: JobName,
  to: AccountSeen,
): AccountSeen | OperatorError | undefined {
  const rowIn = ({ listing }: AccountSeen) => listing.jobs.get(job)?.row?.metadata;
  const inForm = (form: string) =>
    accounts.filter((account) => {
      const row = rowIn(account);
      return row !== undefined && formOf(row) === form;
    });
  const [live, other] = inForm('live');
  if (other !== undefined) return twoRows(job, other.desk.store.location);
  const control = accounts.find((account) => account !== to && account.listing.jobs.get(job)?.control !== undefined);
  if (live !== undefined) return live === to ? control : live;
  const moved = inForm('moved');
  if (moved.length === 0) return control;
  const goals = moved.map((account) => movedTo(rowIn(account) ?? {}) ?? '');
  const [copy] = inForm('arriving').filter(({ desk }) =>
    goals.some((goal) => isSameAccount(goal, desk.store.location)),
  );
  if (copy !== undefined) return copy === to ? (moved[0] ?? copy) : copy;
  return new OperatorError(
    'LostRow',
    `the row of job "${job}" has moved to ${goals.join(' or ')}, and is not there. Without its token no deployment may run the ` +
      'job: name that account too, or restore the row',
  );
}

function fits({ layout, isForeign, isListed }: AccountSeen, list: string, locations: readonly string[]): boolean {
  // One account that never had a list needs no layout.
  if (layout === undefined) return !isForeign && isListed && locations.length === 1;
  return layout.state === 'settled' && layout.list === list && layout.left !== isListed;
}
