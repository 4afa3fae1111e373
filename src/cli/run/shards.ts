import { isoOf } from '../../core/iso';
import { formOf } from '../../core/layout';
import { shardNames } from '../../functions/settings';
import { dealtStore } from '../../lease/dealt-store';
import type { LeaseStore } from '../../lease/store';
import { operate } from '../../operator/audit';
import {
  migrate as migrateJobs,
  type Migration,
  surveyMigration,
  type Applied,
  applyShards,
  type ShardChange,
  type AccountSeen,
  type Misplaced,
  type Survey,
  surveyAccounts,
} from '../../operator/shards/apply';
import { repairLayout } from '../../operator/shards/repair';
import { answer, CliError, NO, OK, style, UsageError, warn } from '../output';
import { deskOf, openAccounts, openSetting, openStore } from '../storage';
import { spanOf } from '../time';
import { actingOn } from './person';

interface MoveOptions {
  readonly wait: string;
  readonly endRuns?: boolean;
  readonly apply?: boolean;
  readonly json?: boolean;
}

interface ShardsOptions extends MoveOptions {
  readonly container?: string;
  readonly leaving?: readonly string[];
  readonly repair?: boolean;
}

interface MigrateOptions extends MoveOptions {
  readonly from: string;
  readonly to: string;
  readonly fromContainer?: string;
  readonly toContainer?: string;
}

const DEFAULT_LIST = ['CRONLEASE_STORAGE'];
const SHOWN = 20;

/** `cronlease shards`: shows over which accounts the jobs are dealt, or puts a list of accounts in force. */
export async function shards(options: ShardsOptions): Promise<number> {
  const waitMs = spanOf(options.wait, '--wait', 0);
  const change: ShardChange = { ...accountsIn(options), waitMs, endRuns: options.endRuns === true, history: 'newest' };
  if (options.repair === true) return repair(change, options);
  const [first] = change.listed;
  if (options.apply === true) {
    if (first === undefined) throw new UsageError('CRONLEASE_SHARDS names no account');
    const list = change.listed.map(({ store }) => store.location);
    return apply(first.store, { list }, () => applyShards(change), options, {
      settled: (version) =>
        `The jobs are distributed over ${list.join(', ')}${version === 0 ? '' : ` (version ${version})`}. Deployments with this list claim within a sweep interval.`,
      unsettled: 'Until every job has moved, no run begins. Correct the causes, and repeat this command.',
    });
  }
  return tell(await surveyAccounts(change), options, {
    wayOf: ({ from, to }) => `moves from ${from.desk.store.location} to ${to.desk.store.location}`,
    settled: 'The list is in force in every account.',
    unsettled:
      'Nothing was written. While the list is changed, no run begins. To put it in force, repeat this command with --apply.',
  });
}

/** `cronlease migrate`: shows what would move from one store to another, or moves it. */
export async function migrate(options: MigrateOptions): Promise<number> {
  const waitMs = spanOf(options.wait, '--wait', 0);
  const from = deskOf(storeNamed('--from', options.from, options.fromContainer));
  const to = deskOf(storeNamed('--to', options.to, options.toContainer));
  const { location } = to.store;
  if (from.store.location === location) throw new UsageError(`--from and --to are the same place, ${location}`);
  if (options.apply === true) {
    const copied: Migration['copied'] = (job, records) => {
      if (!options.json && records > 0) warn(`${job}: ${records} ${records === 1 ? 'record' : 'records'} copied`);
    };
    const move = () => migrateJobs({ from, to, waitMs, endRuns: options.endRuns === true, copied });
    return apply(from.store, { to: location }, move, options, {
      settled: () =>
        `All jobs are in ${location}. Deployments on it claim within a sweep interval; those on the former store claim nothing more.`,
      unsettled:
        'Until every job has moved, no run begins in either store. Correct the causes, and repeat this command.',
    });
  }
  return tell(await surveyMigration({ from, to }), options, {
    wayOf: () => 'moves',
    settled: 'All jobs have moved.',
    unsettled: 'Nothing was written. While jobs move, no run begins. To move them, repeat this command with --apply.',
  });
}

function accountsIn({ container, leaving = [] }: ShardsOptions): Pick<ShardChange, 'listed' | 'leaving'> {
  const listed = shardNames(process.env, undefined) ?? DEFAULT_LIST;
  if (
    !process.env['CRONLEASE_SHARDS'] &&
    !Object.keys(process.env).some((name) => name.startsWith('CRONLEASE_STORAGE'))
  ) {
    throw new CliError('NoStorage', 'no storage is named: set CRONLEASE_SHARDS, and the settings that it names');
  }
  const desks = openAccounts({ container }, [...listed, ...leaving]).map(deskOf);
  return { listed: desks.slice(0, listed.length), leaving: desks.slice(listed.length) };
}

/** A connection, or the name of the setting that holds one. */
function storeNamed(option: string, text: string, container: string | undefined): LeaseStore {
  if (/^[A-Za-z][A-Za-z0-9_]{0,99}$/.test(text)) return openSetting(text, container);
  try {
    return openStore({ storage: text, container });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(
      error.message.replaceAll('--storage', option).replaceAll('--container', `${option}-container`),
    );
  }
}

async function repair({ listed }: ShardChange, options: ShardsOptions): Promise<number> {
  const store = dealtStore(listed.map((desk) => desk.store));
  const { repaired } = await repairLayout(await actingOn(store));
  const lines = repaired.map(
    (location) => `${style('bold', location)}  repaired: claimed again within a sweep interval`,
  );
  const nothing = 'Every layout can be read: nothing was written.';
  return answer(options, { repaired }, () => (lines.length === 0 ? nothing : lines.join('\n')));
}

/** Moves the jobs, with a record at `store` that names the `target`, and reports each one that has moved or could not. */
async function apply(
  store: LeaseStore,
  target: object,
  move: () => Promise<Applied>,
  options: MoveOptions,
  ends: { readonly settled: (version: number) => string; readonly unsettled: string },
): Promise<number> {
  const { recorded: _, ...done } = await operate(await actingOn(store), 'shards', 'accounts', async () => {
    const answer = await move();
    const { version, settled, moved } = answer;
    return { answer, after: { ...target, version, settled, moved: moved.length } };
  });
  const refused = done.refused.map((one) => ({ ...one, job: one.job ?? null }));
  answer(options, { ...done, refused }, () =>
    [
      ...done.moved.map((job) => `${style('bold', job)}  moved`),
      ...refused.map(
        ({ job, message }) =>
          `${job === null ? '' : `${style('bold', job)}  `}${style('red', 'not moved')}: ${message}`,
      ),
      done.settled ? ends.settled(done.version) : ends.unsettled,
    ].join('\n'),
  );
  return done.settled ? OK : NO;
}

/** Shows the accounts, the jobs that move, and what hinders them. */
function tell(
  { accounts, misplaced, problems, isSettled }: Survey,
  options: MoveOptions,
  texts: { readonly wayOf: (one: Misplaced) => string; readonly settled: string; readonly unsettled: string },
): number {
  const document = {
    settled: isSettled,
    accounts: accounts.map(({ desk, isListed, layout, ...account }) => ({
      location: desk.store.location,
      listed: isListed,
      jobs: jobsIn(account),
      layout: layout === undefined ? null : { ...layout, before: undefined, since: isoOf(layout.since) },
    })),
    moves: misplaced.map(({ job, from, to }) => ({ job, from: from.desk.store.location, to: to.desk.store.location })),
    problems: problems.map(({ code, message }) => ({ code, message })),
  };
  answer(options, document, () =>
    [
      ...accounts.map(accountText),
      ...misplaced.slice(0, SHOWN).map((one) => `${style('bold', one.job)}  ${texts.wayOf(one)}`),
      ...(misplaced.length > SHOWN ? [`... and ${misplaced.length - SHOWN} more jobs`] : []),
      ...problems.map(({ message }) => `${style('red', 'problem')}  ${message}`),
      isSettled ? texts.settled : texts.unsettled,
    ].join('\n'),
  );
  return isSettled ? OK : NO;
}

function accountText(account: AccountSeen): string {
  const { desk, isListed } = account;
  return `${style('bold', desk.store.location)}  ${isListed ? '' : 'leaves; '}${jobsIn(account)} jobs, ${layoutText(account)}`;
}

function layoutText({ layout, isForeign }: AccountSeen): string {
  if (isForeign) return 'a layout that something else wrote: see --repair';
  if (layout === undefined) return 'no layout';
  const { version, state, left, accounts } = layout;
  return `layout ${version}, ${left ? 'left' : state}, ${accounts.length} accounts`;
}

function jobsIn({ listing }: Pick<AccountSeen, 'listing'>): number {
  return [...listing.jobs.values()].filter(({ row }) => row !== undefined && formOf(row.metadata) === 'live').length;
}
