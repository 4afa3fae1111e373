import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { NonRetryableError } from '../../src/handler/handler';
import { storeRecord, stretchRecord } from '../../src/core/record';
import { encodeRow, newRow } from '../../src/core/row';
import { cutTexts, openBrowser, openPage, pageWidth, seriousFindings } from '../support/browser';
import { type DashboardServer, serveDashboard } from '../support/dashboard';
import { jobSpec } from '../support/job';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SECRET = '<img src=x onerror="document.title=1">';

const LONG = 'reconcile-marketplace-payouts-with-the-ledger-of-the-holding';

/** Jobs with more than a day behind them, some of which fail. */
const JOBS = [
  jobSpec('charge-subscriptions', '0 */2 * * *', { tags: ['billing'], input: { currency: 'EUR' } }),
  jobSpec('export-ledger', '30 */6 * * *', { tags: ['billing'] }),
  jobSpec(LONG, '@manual'),
  ...Array.from({ length: 10 }, (_, n) => jobSpec(`report-${String(n)}`, `${String(n)} ${String(n * 2)} * * *`)),
];

let browser: Browser;
let server: DashboardServer;
const open: { page?: Awaited<ReturnType<typeof openPage>> } = {};

beforeAll(async () => {
  browser = await openBrowser();
  server = await serveDashboard({
    ...{ jobs: JOBS, deployments: 1, pastMs: 26 * HOUR, sweepIntervalMs: 30_000 },
    async before(store, start) {
      const spec = JOBS.find(({ name }) => name === LONG);
      if (spec === undefined) throw new Error('there is no job with a long name');
      const [from, through] = [start + HOUR, start + 2 * HOUR];
      const missed = { outcome: 'expired', reason: 'groupFull', from, through, count: 2 } as const;
      const { key, record } = stretchRecord(spec.name, missed);
      await store.createRow(spec.name, encodeRow({ ...newRow(start, 0, spec.scheduleHash), cursor: through }));
      await store.createRecord(spec.name, key, storeRecord(record));
    },
    handler: ({ job }) => {
      if (job === 'charge-subscriptions') throw new NonRetryableError(`the bank said no ${SECRET}\nin its second line`);
      if (job === 'report-7') throw new NonRetryableError('no report today');
    },
  });
});

afterEach(async () => {
  const troubles = open.page?.troubles ?? [];
  await open.page?.context().close();
  delete open.page;
  expect(troubles).toEqual([]);
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

describe('the page of all runs', () => {
  it('is where the failures of last night lead, with their errors, and runs those that are chosen again', async () => {
    const page = (open.page = await openPage(browser));
    await page.goto(server.url);
    await page.getByRole('link', { name: /runs failed in the last 12 hours$/ }).click();
    await page.getByText('the bank said no').first().waitFor();
    const rows = page.locator('tbody tr');
    const listed = await rows.count();
    expect(listed).toBeGreaterThanOrEqual(3);
    expect(await rows.filter({ hasText: 'Failed' }).count()).toBe(listed);
    expect(await page.locator('main').innerText()).not.toContain('in its second line');
    expect(await seriousFindings(page)).toEqual([]);
    const again = page.getByRole('button', { name: /^Run/ });
    expect(await again.isDisabled()).toBe(true);
    const boxes = page.getByRole('checkbox', { name: /charge-subscriptions/ });
    await boxes.nth(0).check();
    await boxes.nth(1).check();
    await page.getByRole('button', { name: 'Run 2 runs again' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run 2 runs again?' });
    await dialog.getByText('charge-subscriptions (2)').waitFor();
    expect(server.requests.filter((request) => request.startsWith('POST'))).toEqual([]);
    await dialog.getByRole('button', { name: 'Run again' }).click();
    await page.getByText('2 runs are requested').waitFor();
    expect(
      server.requests.filter((request) => /^POST runs\/charge-subscriptions-.*\/rerun$/.test(request)),
    ).toHaveLength(2);
  });

  it('chooses by job, tag, outcome and time, in its address', async () => {
    const page = (open.page = await openPage(browser));
    await page.goto(`${server.url}?view=runs&tag=billing&hours=48`);
    await page.locator('tbody tr').first().waitFor();
    const jobs = new Set(await page.locator('td.r-job').allTextContents());
    expect(jobs).toEqual(new Set(['charge-subscriptions', 'export-ledger']));
    await page.getByLabel('The job of the runs').fill('export-ledger');
    await page.getByLabel('The job of the runs').press('Enter');
    await expect
      .poll(async () => new Set(await page.locator('td.r-job').allTextContents()))
      .toEqual(new Set(['export-ledger']));
    expect(page.url()).toContain('of=export-ledger');
    await page.getByLabel('Outcome of the runs').selectOption('bad');
    await page.getByText('No run matches').waitFor();
  });

  it('shows a viewer neither a button nor a box', async () => {
    server.role = 'viewer';
    const page = (open.page = await openPage(browser));
    await page.goto(`${server.url}?view=runs`);
    await page.locator('tbody tr').first().waitFor();
    expect(await page.getByRole('checkbox').count()).toBe(0);
    expect(await page.getByRole('button', { name: /^Run/ }).count()).toBe(0);
    server.role = 'admin';
  });

  it.each([1280, 360])('cuts no time at %i px, of another day either', async (width) => {
    const page = (open.page = await openPage(browser, { viewport: { width, height: 800 } }));
    await page.goto(`${server.url}?view=runs&outcome=bad`);
    await page.locator('td.r-due time').first().waitFor();
    const cut = await page.evaluate<string[]>(`
      [...document.querySelectorAll('td.r-due')].filter((cell) => {
        const { width } = cell.querySelector('time').getBoundingClientRect();
        const { paddingLeft, paddingRight } = getComputedStyle(cell);
        return width > cell.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) + 1;
      }).map(({ textContent }) => textContent)
    `);
    expect(cut).toEqual([]);
    expect(await page.locator('td.r-due').allTextContents()).toContainEqual(
      expect.stringMatching(/^\d+ \w+ \d\d:\d\d:\d\d$/),
    );
    expect(await pageWidth(page)).toBeLessThanOrEqual(width);
  });
});

describe('a row of runs', () => {
  it.each([1280, 360])('cuts neither the name of a job nor a reason with its due times at %i px', async (width) => {
    const page = (open.page = await openPage(browser, { viewport: { width, height: 800 } }));
    for (const query of ['?view=runs&outcome=expired', `?job=${LONG}`]) {
      await page.goto(`${server.url}${query}`);
      await page.getByText('(2 due times)').waitFor();
      await page.getByText(/^to .*\d\d:\d\d:\d\d$/).waitFor();
      expect(await cutTexts(page, '.r-job, .r-outcome, .r-took, .r-late')).toEqual([]);
      expect(await pageWidth(page)).toBeLessThanOrEqual(width);
    }
    await page.goto(server.url);
    await page
      .locator('td.c-state', { hasText: /failures? in a row, (?:for|over) \d/ })
      .first()
      .waitFor();
    expect(await cutTexts(page, 'a.job, .c-state, .c-last')).toEqual([]);
    await page.getByText(/^At least \d+ runs failed|^\d+ runs failed/).waitFor();
  });
});

describe('the page of a job', () => {
  it('begins with its latest runs and their errors', async () => {
    const page = (open.page = await openPage(browser));
    await page.goto(`${server.url}?job=charge-subscriptions`);
    await page.getByText('the bank said no').first().waitFor();
    const headings = await page.locator('main h2').allTextContents();
    expect(headings[0]).toBe('Latest runs');
    expect(await page.locator('tbody tr').count()).toBe(8);
    await page.getByRole('link', { name: 'More runs of this job' }).click();
    await expect.poll(() => page.locator('tbody tr').count()).toBeGreaterThan(8);
  });
});

describe('the page of a run', () => {
  it('shows the input, fills "Run again" with it, and shows it only to those who may see it', async () => {
    const page = (open.page = await openPage(browser));
    await page.goto(`${server.url}?job=charge-subscriptions`);
    await page.locator('td.r-due a').first().click();
    await page.getByRole('heading', { name: 'Input' }).waitFor();
    await page.getByText('"currency": "EUR"').waitFor();
    await page.getByRole('button', { name: 'Run again' }).click();
    expect(await page.getByLabel(/^Input in JSON/).inputValue()).toContain('"currency": "EUR"');
    await page.getByRole('button', { name: 'Do not run' }).click();
    server.role = 'viewer';
    await page.reload();
    await page.getByText('It needs the role payloads.').first().waitFor();
    expect(await page.locator('main').innerText()).not.toContain('EUR');
    server.role = 'admin';
  });
});
