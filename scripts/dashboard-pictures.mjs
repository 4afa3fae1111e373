// Draws docs/how-to/dashboard/*.png again from the real pages: npm run dashboard:pictures. Needs Chromium. With --only
// and the name of a world it draws the pictures of that one. With --serve it prints the address of the dashboard of a
// shop, or of the world that follows, instead, and serves it until Ctrl+C.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { withPalette } from './palette-png.mjs';

const root = path.join(import.meta.dirname, '..');
const outfile = path.join(root, '.tmp/dashboard-demo.cjs');
const folder = path.join(root, 'docs/how-to/dashboard');
const WIDE = { width: 1280, height: 800 };
const SMALL = { width: 960, height: 460 };
const PHONE = { width: 360, height: 740 };

/** Pages as they mostly are. */
const PAGES = [
  { name: 'jobs-light', query: '', theme: 'light', size: WIDE },
  { name: 'jobs-dark', query: '', theme: 'dark', size: WIDE },
  { name: 'jobs-phone', query: '', theme: 'light', size: PHONE },
  { name: 'timeline-light', query: '?view=timeline', theme: 'light', size: WIDE },
  { name: 'timeline-dark', query: '?view=timeline&hours=3', theme: 'dark', size: WIDE },
  { name: 'timeline-phone', query: '?view=timeline&hours=3', theme: 'dark', size: PHONE },
  { name: 'job-light', query: '?job=recompute-prices', theme: 'light', size: WIDE },
  { name: 'job-dark', query: '?job=charge-subscriptions', theme: 'dark', size: WIDE },
  { name: 'changes-light', query: '?view=audit', theme: 'light', size: SMALL },
  { name: 'deployments-light', query: '?view=deployments', theme: 'light', size: SMALL },
  { name: 'deployments-dark', query: '?view=deployments', theme: 'dark', size: SMALL },
  { name: 'help-light', query: '?view=help#handlererror', theme: 'light', size: SMALL },
];

const RUN = 'import-orders-20260101T000000Z';
const VIEWS = { jobs: '', timeline: '?view=timeline', changes: '?view=audit', deployments: '?view=deployments' };
/** States of a page: name, world, query, and what the API answers. */
const STATES = [
  ...Object.entries(VIEWS).flatMap(([name, query]) => [
    [`${name}-empty`, 'empty', query],
    [`${name}-many`, name === 'changes' ? 'long' : 'many', query],
  ]),
  ['job-empty', 'long', '?job=never-run'],
  ['job-many', 'long', '?job=import-orders'],
  ['run-empty', 'long', `?run=${RUN}`],
  ...Object.entries({ ...VIEWS, job: '?job=import-orders', run: `?run=${RUN}` }).flatMap(([name, query]) => [
    [`${name}-loading`, 'empty', query, 'nothing'],
    [`${name}-error`, 'empty', query, 'an error'],
  ]),
];

const PROBLEM = {
  ...{ type: 'about:blank', title: 'Service Unavailable', status: 503, code: 'StoreUnavailable', place: 'storage' },
  detail: 'storage did not answer: the request may or may not have taken effect',
  ...{ value: null, remedy: 'try again in a few seconds' },
};

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

async function serve(world) {
  const demo = spawn(process.execPath, [outfile, world], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const [chunk] = await once(demo.stdout, 'data');
  return { url: String(chunk).trim(), stop: () => demo.kill() };
}

async function open(browser, url, theme, viewport, answers) {
  const page = await browser.newPage({ colorScheme: theme, viewport });
  if (answers !== undefined) {
    await page.route(/\/api\/manage\/(jobs|timeline|audit|deployments|runs)/, (route) => {
      if (answers === 'nothing') return;
      void route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify(PROBLEM) });
    });
  }
  await page.goto(url);
  const wanted = answers === 'nothing' ? '.skeleton' : 'table, .notice, .timeline svg, .deployment-list, article';
  await page.locator(wanted).first().waitFor();
  if (url.includes('job=') && answers === undefined) await page.locator('svg.runs-over-time').waitFor();
  return page;
}

async function keep(page, name) {
  // Transitions and late answers.
  await page.waitForTimeout(300);
  writeFileSync(path.join(folder, `${name}.png`), withPalette(await page.screenshot()));
}

async function drawShop(browser, url) {
  for (const { name, query, theme, size } of PAGES) {
    const page = await open(browser, `${url}${query}`, theme, size);
    await keep(page, name);
    await page.close();
  }
  const page = await open(browser, `${url}?job=charge-subscriptions`, 'dark', WIDE);
  await page.getByRole('table', { name: 'Runs' }).locator('a.job').first().click();
  await page.locator('.error').first().waitFor();
  await page.getByRole('log').locator('li').first().waitFor();
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme });
    await keep(page, `run-${theme}`);
  }
  await page.goto(url);
  await page.getByRole('button', { name: 'Start maintenance' }).click();
  await page.getByLabel('Which jobs').selectOption('Tag billing');
  await page.getByLabel('Note,').fill('The payment provider moves');
  await keep(page, 'maintenance-dark');
}

async function drawRunWithManyLines(browser, url) {
  const page = await open(browser, `${url}?job=import-orders`, 'light', SMALL);
  await page.getByRole('table', { name: 'Runs' }).locator('a.job').nth(1).click();
  await page.getByRole('log').locator('li').first().waitFor();
  await page.getByRole('log').scrollIntoViewIfNeeded();
  await keep(page, 'run-many');
}

async function draw() {
  const only = process.argv[process.argv.indexOf('--only') + 1];
  const isWanted = (world) => !process.argv.includes('--only') || only === world;
  if (!process.argv.includes('--only')) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  for (const world of ['empty', 'many', 'long'].filter(isWanted)) {
    const { url, stop } = await serve(world);
    for (const [name, of, query, answers] of STATES) {
      if (of !== world) continue;
      const page = await open(browser, `${url}${query}`, 'light', SMALL, answers);
      await keep(page, name);
      await page.close();
    }
    if (world === 'long') await drawRunWithManyLines(browser, url);
    stop();
  }
  if (isWanted('shop')) {
    const { url, stop } = await serve('shop');
    await drawShop(browser, url);
    stop();
  }
  await browser.close();
}

const served = process.argv.indexOf('--serve');
if (served > 0) console.log((await serve(process.argv[served + 1] ?? 'shop')).url);
else await draw();
