import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { buildSync } from 'esbuild';
import { expect, it } from 'vitest';
import { scratchFolder } from '../support/scratch';
import { trueNow } from './time';

/** Between what the true clock and the monotonic one differ by, in ms: the closest of many readings. */
const DIFFERENCE = `
module.exports = (trueNow) => {
  const monotonic = () => Number(process.hrtime.bigint()) / 1e6;
  let [least, most] = [-Infinity, Infinity];
  for (let count = 0; count < 2_000; count += 1) {
    const before = monotonic();
    const now = trueNow();
    [least, most] = [Math.max(least, now - monotonic()), Math.min(most, now - before)];
  }
  return { least, most };
};
if (require.main === module) console.log(JSON.stringify(module.exports(require('./time.js').trueNow)));`;

interface Range {
  readonly least: number;
  readonly most: number;
}

it('the true clock is the same in a process and in its children', async () => {
  const folder = scratchFolder('true-clock');
  const build = { bundle: true, platform: 'node', format: 'cjs' } as const;
  buildSync({ ...build, entryPoints: [path.join(__dirname, 'time.ts')], outfile: path.join(folder, 'time.js') });
  buildSync({
    ...build,
    stdin: { contents: DIFFERENCE },
    outfile: path.join(folder, 'print.js'),
    external: ['./time.js'],
  });
  const difference = createRequire(__filename)(path.join(folder, 'print.js')) as (now: () => number) => Range;
  const own = difference(trueNow);
  expect(Math.abs(trueNow() - Date.now())).toBeLessThan(50);
  for (let child = 0; child < 5; child += 1) {
    const { stdout } = await promisify(execFile)(process.execPath, ['print.js'], { cwd: folder });
    const { least, most } = JSON.parse(stdout) as Range;
    expect(least).toBeLessThan(own.most + 0.001);
    expect(most).toBeGreaterThan(own.least - 0.001);
  }
});
