import { setTimeout as wait } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sleep } from '../../src/core/clock';
import { NonRetryableError } from '../../src/handler/handler';
import { openBrowser, openPage } from '../support/browser';
import { type DashboardServer, serveDashboard } from '../support/dashboard';
import { jobSpec } from '../support/job';

const MINUTE = 60_000;
const HELD_MS = 500;

let browser: Browser;
let server: DashboardServer;
let page: Page & { readonly troubles: string[] };

beforeAll(async () => {
  browser = await openBrowser();
  // Half a minute ago, so that the newest run of each job has started, and the next one is not claimed yet.
  const due = new Date(Date.now() - MINUTE / 2);
  const schedule = `${String(due.getUTCSeconds())} ${String(due.getUTCMinutes() % 2)}/2 * * * *`;
  server = await serveDashboard({
    jobs: [jobSpec('good', schedule), jobSpec('bad', schedule), jobSpec('slow', schedule, { timeoutMs: 60 * MINUTE })],
    ...{ deployments: 1, pastMs: 9 * MINUTE, timePasses: false },
    async handler({ job }, on) {
      if (job === 'slow') await sleep(on.coordinator.clock, 30 * MINUTE);
      if (job === 'bad') throw new NonRetryableError('no rates for this day');
    },
  });
  page = await openPage(browser);
  // Answers to changes, and to what a person asks for, are held back.
  await page.route(/manage\/(?!assets)/, async (route) => {
    const isQuestion = /\/(?:backfill\/plan|why)\?/.test(route.request().url());
    if (route.request().method() !== 'GET' || isQuestion) await wait(HELD_MS);
    await route.continue();
  });
  // How long after a click its button shows that the action is under way.
  await page.addInitScript(`
    globalThis.shown = [];
    let sent;
    addEventListener('submit', () => (sent = performance.now()), true);
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        if (target.getAttribute('aria-busy') !== 'true' || sent === undefined) continue;
        const { content, animationName } = getComputedStyle(target, '::before');
        const isTurning = content !== 'none' && animationName === 'turn';
        globalThis.shown.push({ name: target.innerText, afterMs: performance.now() - sent, isTurning });
        sent = undefined;
      }
    }).observe(document, { subtree: true, attributeFilter: ['aria-busy'] });
  `);
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

/** Clicks a button of the page, and the one in the dialog that it opens. Resolves once the action is done. */
async function act(button: string, verb: string, note?: string): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).first().click();
  const dialog = page.getByRole('dialog');
  if (note !== undefined) await dialog.getByLabel(/^Note/).fill(note);
  await dialog.getByRole('button', { name: verb, exact: true }).click();
  await expectBusy(verb);
  await dialog.waitFor({ state: 'detached' });
}

async function expectBusy(verb: string): Promise<void> {
  interface Shown {
    readonly name: string;
    readonly afterMs: number;
    readonly isTurning: boolean;
  }
  const shown = (): Promise<readonly Shown[]> => page.evaluate<Shown[]>('globalThis.shown.splice(0)');
  let last: Shown | undefined;
  await expect.poll(async () => (last = (await shown()).at(-1))?.name, { message: verb }).toBe(verb);
  expect(last, verb).toMatchObject({ isTurning: true });
  expect(last?.afterMs, verb).toBeLessThan(200);
}

async function visit(query: string): Promise<void> {
  await page.goto(`${server.url}${query}`);
}

it('shows within 200 ms of each action that it is under way', async () => {
  await visit('?job=good');
  await act('Pause', 'Pause job', 'the rates move');
  await act('Resume', 'Resume job');
  await visit('?job=good');
  const panel = page.getByRole('region', { name: 'Back-fill' });
  await panel.getByLabel(/^From/).fill(new Date(server.sim.clock.now() - 5 * MINUTE).toISOString().slice(0, 19));
  await panel.getByLabel('also what has succeeded').check();
  await panel.getByRole('button', { name: 'Show what would run' }).click();
  await expectBusy('Show what would run');
  await act('Start back-fill', 'Start back-fill');
  await act('Stop back-fill', 'Stop back-fill');
  await page.getByLabel(/^Why, for this time/).fill('2026-01-01T00:00:30');
  await page.getByRole('button', { name: 'Explain' }).click();
  await expectBusy('Explain');
  await page.getByText('Not due').waitFor();
  await visit('?job=bad');
  await act('Acknowledge', 'Acknowledge');
  await act('Lift acknowledgement', 'Lift acknowledgement');
  await page.getByRole('table', { name: 'Runs' }).locator('a.job').first().click();
  await act('Run again', 'Run again');
  await visit('?job=good');
  await act('Run now', 'Run now');
  await visit('?job=slow');
  await page.getByRole('table', { name: 'Runs' }).locator('a.job').first().click();
  await act('Cancel run', 'Cancel run');
  await visit('?view=runs&outcome=failed');
  await page.getByRole('checkbox').nth(0).check();
  await page.getByRole('checkbox').nth(1).check();
  await act('Run 2 runs again', 'Run again');
  // Only a deployment that does not tick can be poked.
  await server.sim.clock.advance(5 * MINUTE);
  await visit('?view=deployments');
  await act('Poke', 'Poke');
  await act('Cordon', 'Cordon', 'a roll-out');
  await act('Lift cordon', 'Lift cordon');
  await visit('');
  await act('Start maintenance', 'Pause these jobs', 'the database moves');
  await act('End maintenance', 'End maintenance');
  expect(page.troubles).toEqual([]);
}, 120_000);
