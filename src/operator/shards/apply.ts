import type { JobName, Millis } from '../../core/brand';
import { FLEET } from '../../core/fleet';
import { type Layout, LAYOUT, encodeLayout, formOf } from '../../core/layout';
import { ForeignMetadataError } from '../../core/metadata';
import { ForeignRecordError } from '../../core/record';
import { sleep } from '../../core/clock';
import { inParallel } from '../../core/in-parallel';
import { OperatorError } from '../operator-error';
import type { History } from './history';
import { makeLive, moveJob } from './move';
import { type AccountSeen, type Accounts, type Misplaced, type Survey, surveyAccounts } from './survey';

export interface ShardChange extends Accounts {
  /** How long deployments may take to see the layouts: twice their longest sweep interval. */
  readonly waitMs: Millis;
  /** Whether runs that are not over are recorded as cancelled. */
  readonly endRuns: boolean;
  /** How much of each job's history moves with it. */
  readonly history: History;
}

export interface Applied {
  /** Whether the list is in force in every account. */
  readonly settled: boolean;
  readonly moved: readonly JobName[];
  /** Jobs that could not move yet, with reasons. */
  readonly refused: readonly Refusal[];
  /** The version of the layouts. */
  readonly version: number;
}

interface Refusal {
  /** Undefined: the message names it. */
  readonly job: JobName | undefined;
  readonly code: string;
  readonly message: string;
}

/**
 * Puts a list of accounts in force: announces the change in every account, waits until no deployment begins a run, moves
 * each job to its account, and settles the layouts. Repeated after an interruption, it goes on where it was.
 * Decision 110.
 *
 * @throws OperatorError `AccountMissing`, `TwoRows`, `LostRow`, `Contended`
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
