import { readFileSync } from 'node:fs';
import path from 'node:path';
import { loadJobs } from '../src/config/load';
import { DEFAULT_ASSUMPTIONS, estimateCost } from '../src/operator/cost/estimate';
import { readPrices } from '../src/operator/cost/prices';

/** Every month of 30 days costs the same with these schedules. */
const FROM = Date.UTC(2027, 0, 1);
const SCHEDULES = { 'every minute': '* * * * *', 'every 5 minutes': '*/5 * * * *', hourly: '@hourly' };

/** What `cronlease cost` estimates for one region and for two, in whole dollars. */
export function costRows(root: string): { readonly heads: readonly string[]; readonly rows: readonly string[][] } {
  const prices = readPrices(JSON.parse(readFileSync(path.join(root, 'prices.json'), 'utf8')), 'prices.json');
  const dollars = (jobs: number, schedule: string, deployments: number): string => {
    const named = Array.from({ length: jobs }, (_, index) => [`job-${index}`, { schedule }]);
    const { jobsFile } = loadJobs({ jobs: Object.fromEntries(named) });
    const { total } = estimateCost(jobsFile.jobs, { ...DEFAULT_ASSUMPTIONS, deployments }, prices, FROM);
    return `$${Math.round(total)}`;
  };
  return {
    heads: ['jobs', ...Object.keys(SCHEDULES)],
    rows: [1, 40, 300].map((jobs) => [
      String(jobs),
      ...Object.values(SCHEDULES).map((schedule) => [1, 2].map((apps) => dollars(jobs, schedule, apps)).join(', ')),
    ]),
  };
}
