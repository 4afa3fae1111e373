// Draws docs/dashboard/*.png anew from the real pages over jobs of a shop: npm run dashboard:pictures. Needs Chromium.
// With --serve it prints the address of that dashboard instead, and serves it until Ctrl+C.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { once } from 'node:events';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';

const root = path.join(import.meta.dirname, '..');
const outfile = path.join(root, '.tmp/dashboard-demo.cjs');
const PAGES = [
  ['jobs-light', '', 'light', 1280],
  ['jobs-dark', '', 'dark', 1280],
  ['jobs-phone', '', 'light', 360],
  ['job-light', '?job=recompute-prices', 'light', 1280],
  ['job-dark', '?job=charge-subscriptions', 'dark', 1280],
];

await build({
  absWorkingDir: root,
  entryPoints: ['test/support/dashboard-demo.ts'],
  outfile,
  bundle: true,
  platform: 'node',
  packages: 'external',
  define: { 'import.meta.dirname': JSON.stringify(path.join(root, 'scripts')) },
  logLevel: 'warning',
});
const demo = spawn(process.execPath, [outfile], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
const [chunk] = await once(demo.stdout, 'data');
const url = String(chunk).trim();

async function picture(browser, name, query, colorScheme, width) {
  const page = await browser.newPage({ colorScheme, viewport: { width, height: width > 400 ? 800 : 740 } });
  await page.goto(`${url}${query}`);
  await page.locator('table, .notice').first().waitFor();
  if (query.includes('job=')) await page.locator('svg.timeline').waitFor();
  await page.screenshot({ path: path.join(root, `docs/dashboard/${name}.png`) });
  return page;
}

async function draw() {
  mkdirSync(path.join(root, 'docs/dashboard'), { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  for (const [name, query, scheme, width] of PAGES) {
    const page = await picture(browser, name, query, scheme, width);
    await page.close();
  }
  const page = await picture(browser, 'job-dark', '?job=charge-subscriptions', 'dark', 1280);
  await page.getByRole('table', { name: 'Runs' }).getByRole('link').first().click();
  await page.locator('.error').first().waitFor();
  for (const scheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.screenshot({ path: path.join(root, `docs/dashboard/run-${scheme}.png`) });
  }
  await browser.close();
}

if (process.argv.includes('--serve')) console.log(url);
else {
  await draw();
  demo.kill();
}
