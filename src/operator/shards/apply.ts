import type { JobName, Millis, EpochMs, ETag } from '../../core/brand';
import { FLEET } from '../../core/fleet';
import {
  type Layout,
  LAYOUT,
  encodeLayout,
  formOf,
  decodeLayout,
  isSameAccount,
  listHash,
  shardOf,
  movedTo,
} from '../../core/layout';
import { ForeignMetadataError, orForeign } from '../../core/metadata';
import { ForeignRecordError } from '../../core/record';
import { sleep } from '../../core/clock';
import { inParallel } from '../../core/in-parallel';
import { OperatorError } from '../operator-error';
import { type Move, copyHistory, makeLive, moveJob, twoRows } from './move';
import type { LeaseTaker } from '../operations/take-lease';
import type { Listing, LeaseStore, ListedControl } from '../../lease/store';
import { type Acting, operate, type Recorded } from '../audit';
import { deploymentsOf } from '../views/deployments';

export interface ShardChange extends Accounts, Pick<Move, 'endRuns' | 'history'> {
  /** How long deployments may take to see the layouts: twice their longest sweep interval. */
  readonly waitMs: Millis;
}

export interface Applied {
  /** Whether the list is in force in every account. */
  readonly settled: boolean;
  readonly moved: readonly JobName[];
  /** Jobs that could not move yet, with reasons. */
  readonly refused: readonly Refusal[];
  readonly version: number;
}

interface Refusal {
  /** Undefined: the message names it. */
  readonly job: JobName | undefined;
  readonly code: string;
  readonly message: string;
}

/**
 * Puts a list of accounts in force: announces the change in every account, waits until no deployment begins a run,
 * moves each job to its account, and settles the layouts. Repeated after an interruption, it goes on where it was.
 * Decision 110. Throws `OperatorError` `AccountMissing`, `TwoRows`, `LostRow`, `Contended`.
 */
export async function applyShards(change: ShardChange): Promise<Applied> {
  const first = await surveyAccounts(change);
  const version = versionOf(first);
  if (first.isSettled) return { settled: true, moved: [], refused: [], version: versionNow(first) };
  const [problem] = first.problems;
  if (problem !== undefined) throw problem;
  await announce(first, version);
  await waitForDeployments(change, version);
  const { misplaced, problems } = await surveyAccounts(change);
  const moved: JobName[] = [];
  const refused: Refusal[] = problems.map(({ code, message }) => ({ job: undefined, code, message }));
  await inParallel(misplaced, async (one) => {
    try {
      await moveHome(one, change);
      moved.push(one.job);
    } catch (error) {
      if (!isOfOneJob(error)) throw error;
      refused.push({ job: one.job, code: error.code, message: error.message });
    }
  });
  if (refused.length > 0) return { settled: false, moved: moved.sort(), refused, version };
  const last = await surveyAccounts(change);
  if (last.misplaced.length > 0) {
    const message = `job "${last.misplaced[0]?.job ?? ''}" was created in its former account meanwhile: repeat this command`;
    throw new OperatorError('Contended', message);
  }
  await settle(last, version);
  return { settled: true, moved: moved.sort(), refused: [], version };
}

/** Such an error leaves the other jobs their way. */
function isOfOneJob(error: unknown): error is OperatorError | ForeignMetadataError | ForeignRecordError {
  return error instanceof OperatorError || error instanceof ForeignMetadataError || error instanceof ForeignRecordError;
}

/** A copy that was on its way to an account of another change becomes live there first. */
async function moveHome({ job, from, to }: Misplaced, { endRuns, history }: ShardChange): Promise<void> {
  const row = from.listing.jobs.get(job)?.row;
  if (row !== undefined && formOf(row.metadata) === 'arriving') await makeLive(from.desk, job);
  await moveJob({ job, from: from.desk, to: to.desk, endRuns, history });
}

function versionNow({ accounts }: Survey): number {
  return Math.max(0, ...accounts.map(({ layout }) => layout?.version ?? 0));
}

/** That of the change that was interrupted, if it is this one; otherwise the next one. */
function versionOf(survey: Survey): number {
  const version = versionNow(survey);
  const newest = survey.accounts.flatMap(({ layout }) => (layout?.version === version ? [layout] : []));
  const isSame = newest.length > 0 && newest.every(({ list }) => list === survey.list);
  return isSame && newest.some(({ state }) => state === 'changing') ? version : version + 1;
}

async function announce({ accounts, list, now }: Survey, version: number): Promise<void> {
  const all = accounts.map(({ desk }) => desk.store.location);
  for (const account of accounts) {
    const { layout } = account;
    // Of this change already.
    if (layout?.version === version && layout.state === 'changing') continue;
    if (!isInForce(account)) await takeCordons(account, accounts.find(isInForce));
    const before = layout === undefined ? undefined : layout.state === 'settled' ? layout.list : layout.before;
    await write(account, { version, state: 'changing', list, before, accounts: all, left: false, since: now });
  }
}

/** Whether deployments may claim in an account: it has no layout and has jobs, or has not left the list. */
function isInForce({ layout, listing }: AccountSeen): boolean {
  return layout === undefined ? listing.jobs.size > 0 : !layout.left;
}

/** A tick reads the cordons of one account, so an account that joins must have them before its first run. */
async function takeCordons({ desk: { store }, listing }: AccountSeen, from: AccountSeen | undefined): Promise<void> {
  const cordons = from?.listing.fleet;
  if (cordons === undefined) return;
  if ((await store.writeControl(FLEET, cordons.metadata, listing.fleet?.etag)) === 'written') return;
  throw new OperatorError('Contended', `the cordons in ${store.location} were changed by others: try again`);
}

async function settle({ accounts, list, now }: Survey, version: number): Promise<void> {
  const listed = accounts.filter(({ isListed }) => isListed).map(({ desk }) => desk.store.location);
  for (const account of accounts) {
    const left = !account.isListed;
    await write(account, { version, state: 'settled', list, before: undefined, accounts: listed, left, since: now });
  }
}

async function write({ desk, layoutEtag }: AccountSeen, layout: Layout): Promise<void> {
  if ((await desk.store.writeControl(LAYOUT, encodeLayout(layout), layoutEtag)) === 'written') return;
  throw new OperatorError('Contended', `the layout in ${desk.store.location} was changed by others: try again`);
}

/** Until every deployment has swept, one may still create the row of a new job in its former account, and run it. */
async function waitForDeployments({ listed, leaving, waitMs }: ShardChange, version: number): Promise<void> {
  for (const { store, clock, waiting } of [...listed, ...leaving]) {
    const { control, date } = await store.readControl(LAYOUT);
    const since = Date.parse(control?.metadata['since'] ?? '');
    const left = since + waitMs - date;
    if (!(left > 0)) continue;
    const why = `the change ${String(version)} of the list is announced in ${store.location}, and deployments see it`;
    waiting(why, left);
    await sleep(clock, left);
  }
}

export interface Migration extends Pick<Move, 'from' | 'to' | 'endRuns'>, Pick<ShardChange, 'waitMs'> {
  /** Told of each job whose ledger has been copied while its runs go on. */
  readonly copied: (job: JobName, records: number) => void;
}

export function surveyMigration({ from, to }: Pick<Migration, 'from' | 'to'>): Promise<Survey> {
  return surveyAccounts({ listed: [to], leaving: [from] });
}

/**
 * Moves all jobs. The ledger is copied first, while the jobs run. Then it is a change of the list of accounts from the
 * one store to the other: layouts in both stop new runs, each row moves with its token under its lease, and deployments
 * of the new store claim. Repeated after an interruption, it goes on where it was. Throws `OperatorError` as
 * `applyShards`.
 */
export async function migrate(migration: Migration): Promise<Applied> {
  const { from, to, waitMs, endRuns } = migration;
  const survey = await surveyMigration(migration);
  const [problem] = survey.problems;
  if (problem === undefined) await copyLedgers(migration);
  return applyShards({ listed: [to], leaving: [from], waitMs, endRuns, history: 'all' });
}

async function copyLedgers({ from, to, copied }: Migration): Promise<void> {
  const { jobs } = await from.store.list();
  for (const job of jobs.keys()) {
    if (job === LAYOUT) continue;
    copied(job, await copyHistory({ job, from, to }, 'ended'));
  }
}

export interface Accounts {
  readonly listed: readonly LeaseTaker[];
  /** Those of the former list that are not in the new one. */
  readonly leaving: readonly LeaseTaker[];
}

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
 * Throws `OperatorError` `AccountMissing` if a layout names an account that is not among these. Throws `StoreError`,
 * `ForeignMetadataError`.
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
  const layout = listed && orForeign(() => decodeLayout(listed.metadata));
  const isForeign = layout instanceof ForeignMetadataError;
  return { desk, isListed, listing, layout: isForeign ? undefined : layout, isForeign, layoutEtag: listed?.etag };
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

interface Account {
  readonly store: LeaseStore;
  readonly listed: ListedControl | undefined;
  readonly layout: Layout | 'foreign' | undefined;
}

/**
 * Replaces layouts that something else wrote, if it is certain what was there. A single account needs none. Of several,
 * all others must have settled on this list. The deployments of the last week must have as many accounts. Everything
 * else is a change of the list, for `shards --apply`. Returns the locations of the accounts that were repaired. Throws
 * `OperatorError` `LayoutUnclear`, `Contended`.
 */
export async function repairLayouts(store: LeaseStore): Promise<readonly string[]> {
  const accounts = await Promise.all((store.accounts ?? [store]).map((one) => seen(one)));
  const foreign = accounts.filter(({ layout }) => layout === 'foreign');
  if (foreign.length === 0) return [];
  const sound = soundLayout(accounts);
  await assertSameNumber(store, accounts.length);
  for (const account of foreign) await assertNothingMoves(account);
  for (const { store: account, listed } of foreign) {
    if (listed === undefined) continue;
    const done =
      sound === undefined
        ? await account.removeControl(LAYOUT, listed.etag)
        : await account.writeControl(LAYOUT, encodeLayout(sound), listed.etag);
    if (done !== 'refused') continue;
    throw new OperatorError('Contended', `the layout in ${account.location} was changed by others: try again`);
  }
  return foreign.map(({ store: { location } }) => location);
}

async function seen(store: LeaseStore): Promise<Account> {
  const { control } = await store.readControl(LAYOUT);
  const layout = control && orForeign(() => decodeLayout(control.metadata));
  return { store, listed: control, layout: layout instanceof ForeignMetadataError ? 'foreign' : layout };
}

/** The layout that all accounts had; undefined: a single account needs none. */
function soundLayout(accounts: readonly Account[]): Layout | undefined {
  if (accounts.length === 1) return undefined;
  const list = listHash(accounts.map(({ store }) => store.location));
  const others = accounts.flatMap(({ layout }) => (layout === 'foreign' ? [] : [layout]));
  const [first] = others;
  const fits = others.every((one) => one?.state === 'settled' && !one.left && one.list === list);
  if (first !== undefined && fits) return first;
  throw unclear('the other accounts have not settled on this list of accounts');
}

/** A list that lacks an account would take the layout for one that is not needed, or for that of fewer accounts. */
async function assertSameNumber(store: LeaseStore, here: number): Promise<void> {
  const { deployments } = deploymentsOf(await store.listPresences());
  const other = deployments.find(({ accounts = 1 }) => accounts !== here);
  if (other === undefined) return;
  const { name, accounts = 1 } = other;
  throw unclear(`deployment "${name}" distributes its jobs over ${accounts} account(s), but this list has ${here}`);
}

/** A row that moves, or has moved, shows that the list was being changed, or that the jobs are elsewhere. */
async function assertNothingMoves({ store }: Account): Promise<void> {
  const { jobs } = await store.list();
  const moving = [...jobs].find(([, { row }]) => row !== undefined && formOf(row.metadata) !== 'live');
  if (moving !== undefined) throw unclear(`the row of job "${moving[0]}" in ${store.location} moves or has moved`);
}

function unclear(why: string): OperatorError {
  return new OperatorError('LayoutUnclear', `the overwritten layout cannot be determined: ${why}`);
}

export function repairLayout(acting: Acting): Promise<Recorded<{ readonly repaired: readonly string[] }>> {
  return operate(acting, 'shards', 'layout', async () => {
    const repaired = await repairLayouts(acting.store);
    return { answer: { repaired }, after: { repaired } };
  });
}
