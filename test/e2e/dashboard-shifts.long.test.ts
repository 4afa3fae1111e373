import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type JobContext, NonRetryableError } from '../../src/handler/handler';
import { layoutShift, openBrowser, openPage } from '../support/browser';
import { type DashboardServer, serveDashboard } from '../support/dashboard';
import { jobSpec } from '../support/job';
import type { Instance } from '../support/rival-ticks';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const STEP_MS = 5 * SECOND;
/** What Chromium counts as a page that does not jump is 0.1. */
const STILL = 0.02;

const WIDTHS = [1280, 360] as const;

/** Jobs that start and end all the time, at different times, of which a third fails every other time. */
const BUSY = Array.from({ length: 40 }, (_, index) => jobSpec(`job-${String(index).padStart(2, '0')}`, '* * * * *'));

async function answer({ job, scheduledFor, signal }: JobContext, on: Instance): Promise<void> {
  const nth = Number(job.slice('job-'.length)) || 0;
  await new Promise<void>((resolve) => {
    const stop = on.coordinator.clock.after(nth * SECOND, resolve);
    signal.addEventListener('abort', () => {
      stop();
      resolve();
    });
  });
  const isEven = scheduledFor.getMinutes() % 2 === 0;
  if (nth % 3 === 0 && isEven) throw new NonRetryableError('no data');
}

let browser: Browser;
let page: Page & { readonly troubles: string[]; readonly inFlight: ReadonlySet<unknown> };
let server: DashboardServer;

beforeAll(async () => {
  browser = await openBrowser();
});

afterEach(async () => {
  const { troubles } = page;
  await page.context().close();
  await server.close();
  expect(troubles).toEqual([]);
});

afterAll(() => browser.close());

function names(): Promise<string[]> {
  return page.locator('a.job').allTextContents();
}

async function failedRun(): Promise<string> {
  const answered = await fetch(`${server.url}runs?failed=true&limit=1`);
  const { runs } = (await answered.json()) as { readonly runs: readonly { readonly runId: string }[] };
  return runs[0]?.runId ?? '';
}

/** Opens a page of deployments whose time moves only with {@link pass}. */
async function open({
  width,
  pastMs,
  query = '',
}: {
  readonly width: number;
  readonly pastMs: number;
  readonly query?: string;
}): Promise<void> {
  server = await serveDashboard({
    ...{ jobs: BUSY, handler: answer, deployments: 2, pastMs, sweepIntervalMs: 5 * SECOND },
    timePasses: false,
  });
  page = await openPage(browser, { viewport: { width, height: 800 } });
  await page.clock.install({ time: server.sim.clock.now() });
  await page.goto(`${server.url}${query}`);
}

/** Moves the time of the deployments and of the browser. */
async function pass(ms: number, look: () => Promise<void>): Promise<void> {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    await server.sim.clock.advance(STEP_MS);
    await page.clock.runFor(STEP_MS);
    await expect.poll(() => page.inFlight.size).toBe(0);
    await look();
  }
}

describe('the page of all jobs', () => {
  it.each(WIDTHS)('moves nothing for two minutes in which jobs start, fail and end, %i px wide', async (width) => {
    await open({ width, pastMs: 3 * MINUTE });
    await page.locator('a.job').first().waitFor();
    const before = await names();
    expect(before).toHaveLength(40);
    await pass(2 * MINUTE, async () => expect(await names()).toEqual(before));
    expect(await layoutShift(page)).toBeLessThan(STILL);
    await pass(30 * SECOND, () => Promise.resolve());
    const changed = page.getByText('The order has changed.');
    await changed.waitFor();
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await changed.waitFor({ state: 'hidden' });
    expect(await names()).not.toEqual(before);
  });
});

describe.each([
  ['all runs', '?view=runs&outcome=bad'],
  ['a job', '?job=job-04'],
])('the page of %s', (_, query) => {
  it.each(WIDTHS)('moves no run for two minutes in which others end, %i px wide', async (width) => {
    await open({ width, pastMs: 6 * MINUTE, query });
    await page.locator('td.r-due').first().waitFor();
    const before = await page.locator('td.r-due').allTextContents();
    await pass(2 * MINUTE, async () => expect(await page.locator('td.r-due').allTextContents()).toEqual(before));
    expect(await layoutShift(page)).toBeLessThan(STILL);
    await page.getByText('The list has changed.').waitFor();
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    expect(await page.locator('td.r-due').allTextContents()).not.toEqual(before);
  });
});

const PAGES = [
  '',
  '?view=runs',
  '?view=timeline',
  '?view=deployments',
  '?view=audit',
  '?job=job-03',
  '?job=job-rare',
  '?run=',
];

describe('pages whose answers come late, one after the other', () => {
  it.each(WIDTHS)('do not jump, %i px wide', async (width) => {
    server = await serveDashboard({
      jobs: [...BUSY.slice(0, 12), jobSpec('job-rare', '@every 4m')],
      ...{ handler: answer, deployments: 2, pastMs: 10 * MINUTE, sweepIntervalMs: MINUTE },
    });
    const run = await failedRun();
    page = await openPage(browser, { viewport: { width, height: 2_000 } });
    let asked = 0;
    await page.route(/\/api\/manage\/(?!assets)[a-z]+/, async (route) => {
      asked += 1;
      await sleep(asked * 150);
      await route.continue();
    });
    const jumped: string[] = [];
    for (const query of PAGES) {
      asked = 0;
      await page.goto(`${server.url}${query === '?run=' ? `?run=${run}` : query}`);
      await page.waitForLoadState('networkidle');
      await expect.poll(() => page.locator('.skeleton').count()).toBe(0);
      const shift = await layoutShift(page);
      if (shift > STILL) jumped.push(`${query}: ${String(shift)}`);
    }
    expect(jumped).toEqual([]);
  });
});
