import type { Millis } from '../../core/brand';
import { parseDuration } from '../../core/duration';
import { formOf } from '../../core/layout';
import { shardNames } from '../../functions/settings';
import { dealtStore } from '../../lease/dealt-store';
import { operate } from '../../operator/audit';
import { type Applied, applyShards, type ShardChange } from '../../operator/shards/apply';
import { repairLayout } from '../../operator/shards/repair';
import { type AccountSeen, type Misplaced, type Survey, surveyAccounts } from '../../operator/shards/survey';
import { CliError, UsageError } from '../cli-error';
import { NO, OK, print, printJson, style } from '../output';
import { deskOf, openAccounts } from '../storage';
import { actingOn } from './person';

export interface ShardsOptions {
  readonly container?: string | undefined;
  readonly leaving?: readonly string[] | undefined;
  readonly wait: string;
  readonly endRuns?: boolean | undefined;
  readonly apply?: boolean | undefined;
  readonly repair?: boolean | undefined;
  readonly json?: boolean | undefined;
}

const DEFAULT_LIST = ['CRONLEASE_STORAGE'];
const SHOWN = 20;

/** `cronlease shards`: shows over which accounts the jobs are dealt, or puts a list of accounts in force. */
export async function shards(options: ShardsOptions): Promise<number> {
  const waitMs = waitOf(options.wait);
  const change: ShardChange = {
    ...accountsIn(options),
    waitMs,
    endRuns: options.endRuns === true,
    history: 'newest',
  };
  if (options.repair === true) return repair(change, options);
  if (options.apply === true) return apply(change, options);
  const survey = await surveyAccounts(change);
  if (options.json) printJson(shapeOf(survey));
  else print(textOf(survey));
  return survey.isSettled ? OK : NO;
}

/** Reads `--wait`. */
export function waitOf(text: string): Millis {
  const waitMs = parseDuration(text);
  if (waitMs === undefined) throw new UsageError(`--wait: "${text}" is not a duration, such as "2m"`);
  return waitMs;
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

async function apply(change: ShardChange, { json }: ShardsOptions): Promise<number> {
  const [first] = change.listed;
  if (first === undefined) throw new UsageError('CRONLEASE_SHARDS names no account');
  const list = change.listed.map(({ store }) => store.location);
  const { recorded: _, ...done } = await operate(await actingOn(first.store), 'shards', 'accounts', async () => {
    const answer = await applyShards(change);
    const { version, settled, moved } = answer;
    return { answer, after: { list, version, settled, moved: moved.length } };
  });
  if (json) printJson({ ...done, refused: done.refused.map((one) => ({ ...one, job: one.job ?? null })) });
  else print(appliedText(done, list));
  return done.settled ? OK : NO;
}

async function repair({ listed }: ShardChange, { json }: ShardsOptions): Promise<number> {
  const store = dealtStore(listed.map((desk) => desk.store));
  const { repaired } = await repairLayout(await actingOn(store));
  if (json) printJson({ repaired });
  else {
    const nothing = 'Every layout can be read: nothing was written.';
    const lines = repaired.map(
      (location) => `${style('bold', location)}  repaired: claimed again within a sweep interval`,
    );
    print(lines.length === 0 ? nothing : lines.join('\n'));
  }
  return OK;
}

/** A line for each job that has moved, or could not. */
export function movedLines({ moved, refused }: Pick<Applied, 'moved' | 'refused'>): readonly string[] {
  return [
    ...moved.map((job) => `${style('bold', job)}  moved`),
    ...refused.map(
      ({ job, message }) =>
        `${job === undefined ? '' : `${style('bold', job)}  `}${style('red', 'not moved')}: ${message}`,
    ),
  ];
}

function appliedText({ settled, moved, refused, version }: Applied, list: readonly string[]): string {
  return [
    ...movedLines({ moved, refused }),
    settled
      ? `The jobs are distributed over ${list.join(', ')}${version === 0 ? '' : ` (version ${version})`}. Deployments with this list claim within a sweep interval.`
      : 'Until every job has moved, no run begins. Correct the causes, and repeat this command.',
  ].join('\n');
}

function textOf(survey: Survey): string {
  return [
    ...surveyLines(survey, ({ from, to }) => {
      const [here, there] = [from, to].map(({ desk }) => desk.store.location);
      return `moves from ${here} to ${there}`;
    }),
    survey.isSettled
      ? 'The list is in force in every account.'
      : 'Nothing was written. While the list is changed, no run begins. To put it in force, repeat this command with --apply.',
  ].join('\n');
}

/** Lines for the accounts, the jobs that move, and what hinders them. */
export function surveyLines(
  { accounts, misplaced, problems }: Survey,
  wayOf: (one: Misplaced) => string,
): readonly string[] {
  return [
    ...accounts.map(accountText),
    ...misplaced.slice(0, SHOWN).map((one) => `${style('bold', one.job)}  ${wayOf(one)}`),
    ...(misplaced.length > SHOWN ? [`... and ${misplaced.length - SHOWN} more jobs`] : []),
    ...problems.map(({ message }) => `${style('red', 'problem')}  ${message}`),
  ];
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

function jobsIn({ listing }: AccountSeen): number {
  return [...listing.jobs.values()].filter(({ row }) => row !== undefined && formOf(row.metadata) === 'live').length;
}

export function shapeOf({ accounts, misplaced, problems, isSettled }: Survey): object {
  return {
    settled: isSettled,
    accounts: accounts.map((account) => ({
      location: account.desk.store.location,
      listed: account.isListed,
      jobs: jobsIn(account),
      layout:
        account.layout === undefined
          ? null
          : { ...account.layout, before: undefined, since: new Date(account.layout.since).toISOString() },
    })),
    moves: misplaced.map(({ job, from, to }) => ({ job, from: from.desk.store.location, to: to.desk.store.location })),
    problems: problems.map(({ code, message }) => ({ code, message })),
  };
}
