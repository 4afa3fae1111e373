import { expect, it } from 'vitest';
import { buildDashboard } from '../../scripts/dashboard.mjs';

it('the dashboard is less than 100 KB, compressed', async () => {
  const { files } = await buildDashboard();
  let bytes = 0;
  for (const name in files) bytes += Buffer.from(files[name]?.gzip ?? '', 'base64').length;
  expect(bytes).toBeLessThan(100_000);
});
