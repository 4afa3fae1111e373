import { hash } from 'node:crypto';
import type { JobName } from './brand';
import {
  FORMAT,
  type RecordOf,
  decodeFields,
  encodeFields,
  instantIn,
  isText,
  lenientIn,
  listIn,
  oneOfIn,
  optional,
  textIn,
  wholeIn,
} from './metadata';

type Metadata = Readonly<Record<string, string>>;

/**
 * An account's layout lies among the controls of its jobs, under this name, so that each sweep reads it without a call.
 * It sorts before the names of jobs, so that it is on the first page. No job may have it.
 */
export const LAYOUT = '-layout' as JobName;

const LAYOUT_FIELDS = {
  /** Grows by one with each change of the list. */
  version: wholeIn('version'),
  /** `changing`: rows may be on their way, so no instance begins a run. */
  state: oneOfIn('state', ['changing', 'settled']),
  /** {@link listHash} of the list. */
  list: textIn('list'),
  /** The list that was followed until this change; undefined: there was none. */
  before: optional(textIn('before')),
  /** The accounts of the list. While it is changing, also those that leave it. */
  accounts: listIn(
    'accounts',
    ({ url }) => (isText(url) ? url : undefined),
    (url) => ({ url }),
  ),
  /** Whether the account that holds this layout has left the list. */
  left: lenientIn(
    'left',
    (text) => text !== undefined,
    (left) => (left ? 'true' : undefined),
  ),
  since: instantIn('since'),
};

/** Over which accounts the jobs are dealt: the metadata of `jobs/-layout/control`, in each of them. */
export interface Layout extends RecordOf<typeof LAYOUT_FIELDS> {}

/** Which runs this deployment may claim in an account. */
export type Allowance =
  | { readonly claims: 'all' }
  /** `begun`: only the next attempts of runs that have begun, so that they come to their end. */
  | { readonly claims: 'begun' | 'none'; readonly reason: string };

export function encodeLayout(layout: Layout): Metadata {
  return encodeFields<Layout>(LAYOUT_FIELDS, layout);
}

/** Throws `ForeignMetadataError` when the metadata is not a layout. */
export function decodeLayout(metadata: Metadata): Layout {
  return decodeFields<Layout>(LAYOUT_FIELDS, metadata);
}

/**
 * What the layout of an account allows a deployment whose list this is. Undefined: the account has no layout.
 * Decision 109.
 */
export function allowanceOf({ accounts, index }: Shard, layout: Layout | undefined): Allowance {
  const here = accounts[index] ?? '';
  if (layout === undefined) {
    if (accounts.length === 1) return { claims: 'all' };
    return none(`${here} has no layout, and this deployment deals the jobs over ${counted(accounts)}`);
  }
  const own = listHash(accounts);
  const { state, list, before } = layout;
  if (state === 'changing') {
    const reason = `the list of accounts is being changed in ${here}`;
    const followed = before ?? listHash([here]);
    return followed === own ? { claims: 'begun', reason } : none(reason);
  }
  if (layout.left) return none(`${here} has left the list of accounts`);
  if (list === own) return { claims: 'all' };
  return none(
    `this deployment deals the jobs over ${counted(accounts)} (${accounts.join(', ')}), and the layout of ${here} ` +
      `over ${counted(layout.accounts)} (${layout.accounts.join(', ')})`,
  );
}

function none(reason: string): Allowance {
  return { claims: 'none', reason };
}

function counted(accounts: readonly string[]): string {
  return accounts.length === 1 ? '1 account' : `${String(accounts.length)} accounts`;
}

/** Hexadecimal digits of a hash that a number holds exactly. */
const WEIGHT_DIGITS = 13;
const LIST_DIGITS = 16;

/** One of the storage accounts over which the jobs are dealt. */
export interface Shard {
  /** The locations of all of them. Their order means nothing. */
  readonly accounts: readonly string[];
  /** Which of them this one is. */
  readonly index: number;
}

/**
 * The account of a job, by only its name: the one with the highest weight. So an account that is added takes jobs of
 * all others and moves no other job, and the jobs of one that is removed are dealt to those that remain. Decision 108.
 *
 * Jobs whose names begin alike before `--` lie in one account.
 */
export function shardOf(job: string, accounts: readonly string[]): number {
  if (accounts.length < 2) return 0;
  const dealtBy = job.split('--', 1)[0] || job;
  const weights = accounts.map((account) => weightOf(dealtBy, account));
  return weights.indexOf(Math.max(...weights));
}

/** Equal for lists of the same accounts, in whatever order. */
export function listHash(accounts: readonly string[]): string {
  return hash('sha256', accounts.map(canonical).sort().join('\n')).slice(0, LIST_DIGITS);
}

/** Whether two locations are the same account. */
export function isSameAccount(one: string, other: string): boolean {
  return canonical(one) === canonical(other);
}

function weightOf(dealtBy: string, account: string): number {
  return Number.parseInt(hash('sha256', `${dealtBy}\n${canonical(account)}`).slice(0, WEIGHT_DIGITS), 16);
}

function canonical(account: string): string {
  return account.toLowerCase().replace(/\/+$/, '');
}

/**
 * A row that changes its storage account, as metadata. Older versions do not touch these forms, as those of a newer
 * one.
 */

const LIVE = String(FORMAT);
const ARRIVING = 'arriving';
const MOVED = 'moved';

/** `arriving`: a copy that counts once the original has been marked as moved. `moved`: another account has the job. */
export type RowForm = 'live' | 'arriving' | 'moved';

/** Rows that something else wrote count as live: they are left where they are. */
export function formOf({ format }: Metadata): RowForm {
  return format === ARRIVING || format === MOVED ? format : 'live';
}

/**
 * The copy of a row, for its new account. Its token is never lower than one that this account has seen.
 *
 * @param there the row of the job in that account, from an earlier time
 */
export function arrivingRow(row: Metadata, there: Metadata | undefined): Metadata {
  const token = Math.max(tokenOf(row), there === undefined ? 0 : tokenOf(there));
  return { ...row, token: String(token), format: ARRIVING };
}

/** The row that remains in the old account. */
export function movedRow(row: Metadata, to: string): Metadata {
  return { format: MOVED, token: String(tokenOf(row)), movedto: to };
}

export function arrivedRow(row: Metadata): Metadata {
  return { ...row, format: LIVE };
}

/** Where a row has moved; undefined: it has not. */
export function movedTo(row: Metadata): string | undefined {
  return formOf(row) === 'moved' ? row['movedto'] : undefined;
}

/** Why a row that is not live cannot be used here, and what to do; undefined for any other row. */
export function notHere(row: Metadata): string | undefined {
  switch (formOf(row)) {
    case 'live':
      return undefined;
    case 'arriving':
      return 'the job is on its way here from another store: repeat the command that moves it';
    case 'moved':
      return `the job has moved to ${row['movedto'] ?? 'another store'}: look for it there`;
  }
}

function tokenOf({ token }: Metadata): number {
  return /^\d{1,16}$/.test(token ?? '') ? Number(token) : 0;
}
