import { it } from 'vitest';
import { runHistory } from '/work/main/test/simulation/history';
import { planOf } from '/work/main/test/simulation/plan';
it('x', async () => { for (const s of [131,135,20,26,76,78]) { const p = planOf(s); const o = await runHistory(p); console.log(s, o.violations, o.counts, p.jobs.map(j=>[j.specs[0].schedule,j.specs[0].overlap,j.specs[0].leaseMs,j.specs[0].retry.backoffMs]).join(' | '), JSON.stringify(p.instances), o.events);} }, 600000);
