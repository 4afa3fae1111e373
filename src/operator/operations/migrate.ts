import type { JobName, Millis } from '../../core/brand';
import { LAYOUT } from '../../core/layout';
import { type Applied, applyShards } from '../shards/apply';
import { copyHistory } from '../shards/history';
import { type Survey, surveyAccounts } from '../shards/survey';
import type { LeaseTaker } from './take-lease';

/** The way of all jobs from one store to another, of whatever kinds. */
export interface Migration {
  readonly from: LeaseTaker;
  readonly to: LeaseTaker;
  /** How long deployments may take to see that the jobs move: twice their longest sweep interval. */
  readonly waitMs: Millis;
  /** Whether runs that are not over are recorded as cancelled. */
  readonly endRuns: boolean;
  /** Told of each job whose ledger has been copied while its runs go on. */
  readonly copied: (job: JobName, records: number) => void;
}

/** What would move, and what hinders it. */
export function surveyMigration({ from, to }: Pick<Migration, 'from' | 'to'>): Promise<Survey> {
  return surveyAccounts({ listed: [to], leaving: [from] });
}

/**
 * Moves all jobs. The ledger is copied first, while the jobs run. Then it is a change of the list of accounts from the
 * one store to the other: layouts in both stop new runs, each row moves with its token under its lease, and deployments
 * of the new store claim. Repeated after an interruption, it goes on where it was.
 *
 * @throws OperatorError as `applyShards`
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
