import { readFileSync } from 'node:fs';
import path from 'node:path';
import { loadJobs } from '../src/config/load';
import { type CostAssumptions, DEFAULT_ASSUMPTIONS, estimateCost } from '../src/operator/cost/estimate';
import { readPrices } from '../src/operator/cost/prices';

/** Every month of 30 days costs the same with these schedules. */
const FROM = Date.UTC(2027, 0, 1);
const SCHEDULES = { 'every minute': '* * * * *', 'every 5 minutes': '*/5 * * * *', hourly: '@hourly' };

/** The dollars of a month as `cronlease cost` estimates them, in whole ones. */
export function dollarsOf(
  root: string,
  jobs: number,
  schedule: string,
  assumptions: Partial<CostAssumptions> = {},
): number {
  const prices = readPrices(JSON.parse(readFileSync(path.join(root, 'prices.json'), 'utf8')), 'prices.json');
  const named = Array.from({ length: jobs }, (_, index) => [`job-${index}`, { schedule }]);
  const { jobsFile } = loadJobs({ jobs: Object.fromEntries(named) });
  return Math.round(estimateCost(jobsFile.jobs, { ...DEFAULT_ASSUMPTIONS, ...assumptions }, prices, FROM).total);
}

/** What `cronlease cost` estimates for one region and for two. */
export function costRows(root: string): { readonly heads: readonly string[]; readonly rows: readonly string[][] } {
  return {
    heads: ['jobs', ...Object.keys(SCHEDULES)],
    rows: [1, 40, 300].map((jobs) => [
      String(jobs),
      ...Object.values(SCHEDULES).map((schedule) =>
        [1, 2].map((deployments) => `$${dollarsOf(root, jobs, schedule, { deployments })}`).join(', '),
      ),
    ]),
  };
}
