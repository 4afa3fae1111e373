import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openBrowser, openPage } from '../support/browser';
import { type DashboardServer, serveDashboard } from '../support/dashboard';
import { SHOP, shopHandler } from '../support/dashboard-world';
import { keyOfRole } from '../support/manage';
import { describeWith } from '../support/needs';

const inBrowser = describeWith('chromium', 'the dashboard in a browser');

let browser: Browser;
let server: DashboardServer;

beforeAll(async () => {
  browser = await openBrowser();
  const jobs = SHOP.filter(({ name }) => name === 'recompute-prices');
  // No one is logged in.
  server = await serveDashboard({ jobs, handler: shopHandler, deployments: 1, pastMs: 600_000, role: undefined });
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

inBrowser('somebody behind a private network', () => {
  it('uses the dashboard with a key, which the browser sends with all that the page asks for', async () => {
    const httpCredentials = { username: 'ann', password: keyOfRole('operator') };
    const page = await openPage(browser, { httpCredentials });
    await page.goto(`${server.url}keyed/`);
    await page.getByRole('link', { name: 'recompute-prices' }).click();
    await page.getByRole('button', { name: 'Pause' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Note,').fill('the prices are wrong');
    await dialog.getByRole('button', { name: 'Pause job' }).click();
    await page.getByText('the prices are wrong').first().waitFor();
    expect(new URL(page.url()).pathname).toMatch(/\/keyed\/$/);
    expect(page.troubles).toEqual([]);
    await page.context().close();
  });

  it('gets nothing without one', async () => {
    const page = await openPage(browser, { httpCredentials: { username: 'ann', password: 'a guess' } });
    const answer = await page.goto(`${server.url}keyed/`);
    expect(answer?.status()).toBe(401);
    await page.context().close();
  });
});
