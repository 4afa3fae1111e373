import { hash } from 'node:crypto';

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
