import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import {
  layoutShift,
  openBrowser,
  openPage,
  pageWidth,
  seriousFindings,
  startSearch,
  timeToShow,
} from '../support/browser';
import { type DashboardServer, serveDashboard } from '../support/dashboard';
import { SHOP, shopHandler } from '../support/dashboard-world';
import { describeWith } from '../support/needs';

const MINUTE = 60_000;
/** A quiet machine needs 0.3 s. */
const USABLE_MS = 5_000;
const JOBS = SHOP.filter(({ name }) => ['rebuild-search-index', 'recompute-prices', 'import-orders'].includes(name));

const inBrowser = describeWith('chromium', 'the dashboard in a browser');

let browser: Browser;
let server: DashboardServer;
let page: Page & { readonly troubles: string[] };

async function visit(query = '', options: Parameters<typeof openPage>[1] = {}): Promise<void> {
  page = await openPage(browser, options);
  await page.goto(`${server.url}${query}`);
}

/** The newest one: another one may be in progress. */
function failedRun(): Locator {
  return page
    .getByRole('table', { name: 'Runs' })
    .getByRole('row')
    .filter({ hasText: 'Failed' })
    .locator('a.job')
    .first();
}

beforeAll(async () => {
  browser = await openBrowser();
  server = await serveDashboard({
    ...{ jobs: JOBS, handler: shopHandler, deployments: 2, pastMs: 30 * MINUTE },
    environment: { name: 'production', color: 'red' },
  });
});

afterEach(async () => {
  const { troubles } = page;
  await page.context().close();
  server.role = 'admin';
  expect(troubles).toEqual([]);
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

inBrowser('somebody on call', () => {
  it('finds the failing job, reads why it fails, pauses and resumes it: with the mouse', async () => {
    await visit();
    await page.getByRole('link', { name: 'Need attention 1' }).click();
    await page.getByRole('link', { name: 'rebuild-search-index' }).click();
    await failedRun().click();
    await page.locator('.attempts .error').waitFor();
    const error = await page.locator('.attempts .error').innerText();
    expect(error).toContain('NonRetryableError: The index "products" is read-only');
    expect(error).toContain('at rebuildSearchIndex (');
    expect(error).not.toContain('node_modules');
    await page.getByText(/^The whole trace/).click();
    await page.getByText('slow answer of the index: <b>5 s</b>').waitFor();
    await page.getByRole('link', { name: 'rebuild-search-index' }).click();
    await page.getByRole('button', { name: 'Pause' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause rebuild-search-index?' });
    await expect.poll(() => dialog.innerText()).toContain('production');
    await dialog.getByLabel('Note, for others to read').fill('the index is read-only');
    // The announcement goes away by itself, and a click waits for the page that it leads to.
    const announced = page.getByText('rebuild-search-index is paused.').waitFor();
    await dialog.getByRole('button', { name: 'Pause job' }).click();
    await announced;
    await page.getByText('by of-admin: the index is read-only').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Resume job' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
  });

  it('does the same with the keyboard', async () => {
    await visit();
    await page.locator('a.job').first().waitFor();
    const press = (key: string) => page.keyboard.press(key);
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    const tabTo = async (text: string): Promise<void> => {
      for (let count = 0; count < 60; count += 1) {
        if ((await focused()).trim() === text) return;
        await press('Tab');
      }
      throw new Error(`Tab does not lead to "${text}"`);
    };
    await startSearch(page);
    await page.keyboard.type('rebuild');
    await expect.poll(() => page.locator('a.job').count()).toBe(1);
    await tabTo('rebuild-search-index');
    await press('Enter');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await tabTo('Pause');
    await press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => focused()).toBe('Pause');
    await press('Enter');
    await dialog.waitFor();
    await page.keyboard.type('by keyboard');
    await press('Enter');
    await page.getByText('by of-admin: by keyboard').waitFor();
    await tabTo('Resume');
    await press('Enter');
    await tabTo('Resume job');
    await press('Enter');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
  });

  it('finds what to do about a reason, a state and an error, and comes back', async () => {
    await visit('?job=rebuild-search-index');
    await failedRun().click();
    await page.getByRole('link', { name: 'What to do about nonRetryable' }).click();
    await page.getByRole('heading', { name: 'nonRetryable' }).waitFor();
    await expect.poll(() => new URL(page.url())).toMatchObject({ search: '?view=help', hash: '#nonretryable' });
    await expect.poll(() => page.evaluate<string>('document.activeElement.id')).toBe('nonretryable');
    await expect
      .poll(() => page.evaluate<number>('document.activeElement.getBoundingClientRect().top'))
      .toBeLessThan(100);
    expect(await seriousFindings(page)).toEqual([]);
    await page.goBack();
    await page.getByRole('heading', { name: 'Attempts' }).waitFor();
    await page.getByRole('link', { name: 'Jobs', exact: true }).first().click();
    await page.getByRole('link', { name: 'Failing', exact: true }).click();
    await expect.poll(() => new URL(page.url()).hash).toBe('#failed');
    await page.reload();
    await expect.poll(() => page.evaluate<string>('document.activeElement.id')).toBe('failed');
    server.role = undefined;
    await page.goto(`${server.url}?job=import-orders`);
    await page.getByRole('link', { name: 'What to do about notAuthenticated' }).click();
    await page.getByRole('heading', { name: 'notAuthenticated' }).waitFor();
  });

  it('sees no action without the right to act', async () => {
    server.role = 'viewer';
    await visit('?job=import-orders');
    await page.getByText('of-viewer').waitFor();
    await page.getByRole('table', { name: 'Runs' }).waitFor();
    await expect.poll(() => page.getByRole('main').getByRole('button').allInnerTexts()).toEqual(['Explain']);
  });
});

inBrowser('every page', () => {
  it.each([
    ['all jobs', '', 'a.job'],
    ['the timeline', '?view=timeline', '.timeline-row a.job'],
    ['a job', '?job=recompute-prices', 'table[aria-label=Runs] a'],
    ['the changes', '?view=audit', '.notice, table'],
    ['the deployments', '?view=deployments', 'main h2'],
    ['the help', '?view=help#overdue', 'article h3'],
  ])('%s: is usable soon, does not jump, and is accessible on a phone', async (_, query, shown) => {
    await visit(query, { colorScheme: 'dark', viewport: { width: 360, height: 740 } });
    expect(await timeToShow(page, page.locator(shown).first(), USABLE_MS)).toBeLessThan(USABLE_MS);
    expect(await seriousFindings(page)).toEqual([]);
    expect(await pageWidth(page)).toBeLessThanOrEqual(360);
    expect(await layoutShift(page)).toBeLessThan(0.02);
  });

  it('a run: is usable soon, does not jump, and is accessible', async () => {
    await visit('?job=rebuild-search-index&outcome=bad');
    await page.getByRole('table', { name: 'Runs' }).locator('a.job').last().click();
    await page.getByRole('log').getByText('opening the index').waitFor();
    await page.reload();
    const line = page.getByRole('log').getByText('opening the index');
    expect(await timeToShow(page, line, USABLE_MS)).toBeLessThan(USABLE_MS);
    expect(await seriousFindings(page)).toEqual([]);
    expect(await layoutShift(page)).toBeLessThan(0.02);
  });
});
