import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { defineFanOut } from '../../src/handler/define-fan-out';
import { NonRetryableError } from '../../src/handler/handler';
import { openBrowser, openPage, seriousFindings } from '../support/browser';
import { type DashboardServer, serveDashboard } from '../support/dashboard';
import { jobSpec } from '../support/job';

const MINUTE = 60_000;

let browser: Browser;
let server: DashboardServer;
let page: Page & { readonly troubles: string[] };

beforeAll(async () => {
  browser = await openBrowser();
  // Time stands still, so that no deployment claims anything until the test moves it.
  server = await serveDashboard({
    jobs: [
      jobSpec('import', '@manual'),
      jobSpec('bad', '*/2 * * * *'),
      jobSpec('parts', '*/2 * * * *'),
      jobSpec('many', '*/2 * * * *'),
    ],
    ...{ deployments: 1, pastMs: 5 * MINUTE, timePasses: false, sweepIntervalMs: 1_000 },
    handler({ job, log }) {
      log('it begins');
      if (job !== 'bad') return;
      throw new NonRetryableError('the import failed', { cause: new TypeError('the answer is no JSON') });
    },
    fanOut: {
      many: () =>
        defineFanOut<unknown, number, string>({
          ...{ onItemFailure: 'collect', plan: () => Array.from({ length: 30 }, (_, index) => index) },
          gather: () => 'done',
          each({ index }) {
            if (index % 10 === 7 && index < 20) throw new NonRetryableError(`no account ${String(index)}`);
            return 'done';
          },
        }),
      parts: () =>
        defineFanOut<number, number>({
          plan: () => [10, 20, 30],
          gather: () => 'done',
          each: ({ log, index }) => {
            log(`part ${String(index)} is done`);
            return index;
          },
        }),
    },
  });
});

afterEach(async () => {
  const { troubles } = page;
  await page.context().close();
  expect(troubles).toEqual([]);
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

async function lastRun(job: string): Promise<string> {
  const answered = await fetch(`${server.url}runs?job=${job}&limit=1`);
  const { runs } = (await answered.json()) as { readonly runs: readonly { readonly runId: string }[] };
  return runs[0]?.runId ?? '';
}

async function visit(query: string): Promise<void> {
  page = await openPage(browser);
  await page.goto(`${server.url}${query}`);
}

describe('a run that was requested', () => {
  it('waits for a deployment on its page, and then is there', async () => {
    await visit('?job=import');
    await page.evaluate(`
      globalThis.seen = [];
      new MutationObserver(() => globalThis.seen.push(document.querySelector('main').innerText))
        .observe(document.body, { childList: true, subtree: true, characterData: true });
    `);
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.route(/jobs\/import\/runs$/, async (route) => {
      await sleep(1_000);
      await route.continue();
    });
    await page.evaluate(`addEventListener('submit', () => setTimeout(() => {
      globalThis.busy = document.querySelector('dialog [type=submit]').getAttribute('aria-busy');
    }, 200), true)`);
    await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
    await expect.poll(() => page.evaluate<string>('globalThis.busy')).toBe('true');
    await page.getByText('Waiting for a deployment.').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    const asked = page.url();
    // Who comes later sees the same.
    const other = await browser.newPage();
    await other.goto(asked);
    await other.getByText('Waiting for a deployment.').waitFor();
    await other.close();
    await server.sim.clock.advance(20_000);
    await page.getByRole('log').getByText('it begins').waitFor();
    expect(page.url()).toBe(asked);
    const seen = await page.evaluate<string[]>('globalThis.seen');
    expect(seen.filter((text) => /no record|deleted/.test(text))).toEqual([]);
  });

  it('has no record if it is old', async () => {
    await visit('?run=import-20200101T000000Z-m-abc');
    await page.getByRole('heading', { name: 'This run has no record' }).waitFor();
  });
});

describe('the items of a run', () => {
  it.each([1280, 360])('are a table with failed ones first, %i px wide', async (width) => {
    await visit(`?run=${await lastRun('many')}`);
    await page.setViewportSize({ width, height: 800 });
    await page.getByText('30 items · 2 failed · 28 succeeded').waitFor();
    const rows = page.getByRole('table', { name: 'Items' }).getByRole('row');
    expect(await rows.count()).toBe(21);
    expect((await rows.nth(1).innerText()).split(/\s*[\n\t]\s*/)).toEqual([
      '7',
      'Failed',
      'NonRetryableError: no account 7',
      // A phone shows more than one attempt below the duration.
      ...(width < 760 ? [] : ['1']),
      '0 ms',
    ]);
    expect(await rows.nth(2).innerText()).toMatch(/^17\s/);
    expect(await rows.nth(3).innerText()).toMatch(/^0\s+Succeeded/);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await page.getByRole('button', { name: 'Show all 30' }).click();
    await expect.poll(() => rows.count()).toBe(31);
    expect(await seriousFindings(page)).toEqual([]);
  });
});

describe('the log of a run', () => {
  it('that failed ends with its error and the cause', async () => {
    await visit(`?run=${await lastRun('bad')}`);
    const lines = page.getByRole('log').locator('li');
    await expect.poll(() => lines.count()).toBe(2);
    await expect.poll(() => lines.last().innerText()).toContain('NonRetryableError: the import failed');
    expect(await lines.last().innerText()).toContain('Caused by: TypeError: the answer is no JSON');
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('of items names the item of each line, and shows those of one', async () => {
    await visit(`?run=${await lastRun('parts')}`);
    const lines = page.getByRole('log').locator('.said');
    await expect.poll(() => lines.allInnerTexts()).toHaveLength(3);
    expect((await lines.allInnerTexts()).toSorted()[1]).toMatch(/^item 1\s*part 1 is done$/);
    await page.getByLabel('Lines of').selectOption('Item 2');
    await expect.poll(() => lines.allInnerTexts()).toHaveLength(1);
    expect(await lines.innerText()).toContain('part 2 is done');
    await page.getByRole('table', { name: 'Items' }).getByRole('link', { name: '1', exact: true }).click();
    await expect.poll(() => lines.allInnerTexts()).toEqual([expect.stringContaining('part 1 is done')]);
    await page.reload();
    await expect.poll(() => lines.allInnerTexts()).toEqual([expect.stringContaining('part 1 is done')]);
    await page.getByLabel('Lines of').selectOption('All lines');
    await expect.poll(() => lines.allInnerTexts()).toHaveLength(3);
    expect(await seriousFindings(page)).toEqual([]);
  });
});
