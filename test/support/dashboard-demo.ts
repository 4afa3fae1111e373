// A dashboard with the jobs of a shop, for a look at it and for its pictures. Prints its address.
import { pauseJob } from '../../src/operator/pause';
import { serveDashboard } from './dashboard';
import { SHOP, shopHandler } from './dashboard-world';

async function main(): Promise<void> {
  const { url, sim } = await serveDashboard({
    ...{ jobs: SHOP, handler: shopHandler, deployments: 3, pastMs: 13 * 3_600_000 },
    ...{ environment: { name: 'production', color: 'red' }, port: Number(process.argv[2] ?? 0) },
  });
  const spec = SHOP.find(({ name }) => name === 'export-ledger');
  if (spec === undefined) throw new Error('there is no job to pause');
  await pauseJob(sim.store, { name: spec.name, spec }, { by: 'anna@example.com', note: 'the ledger moves' });
  console.log(url);
}

void main();
