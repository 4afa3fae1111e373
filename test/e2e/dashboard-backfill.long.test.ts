import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { NonRetryableError } from '../../src/handler/handler';
import { openBrowser, openPage, pageWidth, seriousFindings } from '../support/browser';
import { type DashboardServer, serveDashboard } from '../support/dashboard';
import { jobSpec } from '../support/job';

const MINUTE = 60_000;

let browser: Browser;
let server: DashboardServer;
let page: Page & { readonly troubles: string[] };
/** The instant at which the handler was repaired. Runs before it fail. */
let mendedAt = Infinity;
/** The span of the first back-fill: four due times. */
let span: readonly [string, string];

async function visit(query: string, options: Parameters<typeof openPage>[1] = {}): Promise<Locator> {
  page = await openPage(browser, options);
  await page.goto(`${server.url}${query}`);
  const panel = page.getByRole('region', { name: 'Back-fill' });
  await panel.waitFor();
  return panel;
}

/** The value of a field for a local time in UTC, so many minutes ago, between two due times. */
function minutesAgo(count: number): string {
  const minute = Math.floor(server.sim.clock.now() / MINUTE) - count;
  return new Date((minute + 0.5) * MINUTE).toISOString().slice(0, 19);
}

async function ask(panel: Locator, from: string, to: string): Promise<void> {
  await panel.getByLabel(/^From/).fill(from);
  await panel.getByLabel(/^To/).fill(to);
  await panel.getByRole('button', { name: 'Show what would run' }).click();
}

beforeAll(async () => {
  browser = await openBrowser();
  server = await serveDashboard({
    jobs: [jobSpec('report', '* * * * *'), jobSpec('on-request', '@manual')],
    handler: (_context, on) => {
      if (on.coordinator.clock.now() < mendedAt) throw new NonRetryableError('no rates for this day');
    },
    pastMs: 12 * MINUTE,
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

describe('a back-fill on the page of its job', () => {
  it('lists what would run, starts after a question, and shows its end', async () => {
    mendedAt = server.sim.clock.now();
    span = [minutesAgo(8), minutesAgo(4)];
    const panel = await visit('?job=report&zone=utc');
    await ask(panel, ...span);
    await panel.getByText('4 due times run.').waitFor();
    expect(await panel.getByRole('listitem').count()).toBe(4);
    expect(await panel.getByRole('listitem').first().innerText()).toMatch(/runs \(failed\)/);
    await panel.getByRole('button', { name: 'Start back-fill' }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Start/ })
      .click();
    await panel.getByText('4 of 4 due times, done: 4 succeeded').waitFor({ timeout: 60_000 });
    expect(await panel.getByRole('button', { name: 'Stop back-fill' }).count()).toBe(0);
  });

  it('skips what has succeeded since', async () => {
    const panel = await visit('?job=report&zone=utc');
    await ask(panel, ...span);
    await panel.getByText('No due time runs: 4 have succeeded and are skipped.').waitFor();
    expect(await panel.getByRole('button', { name: 'Start back-fill' }).count()).toBe(0);
    await panel.getByLabel('also what has succeeded').check();
    await panel.getByRole('button', { name: 'Show what would run' }).click();
    await panel.getByText('4 due times run.').waitFor();
  });

  it('is shown beside the record of a due time, where one asks why', async () => {
    const due = new Date(Math.ceil(Date.parse(`${span[0]}Z`) / MINUTE) * MINUTE).toISOString();
    await visit(`?job=report&zone=utc&at=${encodeURIComponent(due)}`);
    const why = page.locator('section#why');
    await why.getByText('Back-filled:').waitFor();
    expect(await why.innerText()).toMatch(/Failed[^]*Back-filled:\s*Succeeded/);
    await why.getByRole('link', { name: 'Open this record' }).click();
    await page.waitForURL(/-m-/);
  });

  it('explains what it cannot do', async () => {
    const panel = await visit('?job=report&zone=utc');
    await ask(panel, minutesAgo(4), minutesAgo(8));
    await panel.getByText(/no due time from .* that is over/).waitFor();
  });

  it('is offered to nobody who may only read', async () => {
    server.role = 'viewer';
    const panel = await visit('?job=report&zone=utc');
    expect(await panel.getByRole('button').count()).toBe(0);
  });

  for (const [theme, width] of [
    ['light', 1280],
    ['dark', 360],
  ] as const) {
    it(`is accessible in the ${theme} theme at a width of ${String(width)}`, async () => {
      const panel = await visit('?job=report&zone=utc', {
        ...{ colorScheme: theme, viewport: { width, height: 900 } },
      });
      await ask(panel, minutesAgo(11), minutesAgo(4));
      await panel.getByRole('button', { name: 'Start back-fill' }).waitFor();
      expect(await seriousFindings(page)).toEqual([]);
      expect(await pageWidth(page)).toBeLessThanOrEqual(width);
    });
  }
});
