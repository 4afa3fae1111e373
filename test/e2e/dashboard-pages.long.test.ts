import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, openPage, pageWidth, seriousFindings } from '../support/browser';
import { type DashboardServer, serveDashboard } from '../support/dashboard';
import { sleep } from '../../src/core/clock';
import { encodePresence } from '../../src/core/presence';
import { SHOP, shopHandler } from '../support/dashboard-world';
import { jobSpec } from '../support/job';

const MINUTE = 60_000;
/** A request is refused while a run is in progress: the nearest due times are five minutes away. */
const BETWEEN = `${String((new Date().getMinutes() + 5) % 10)}-59/10 * * * *`;
const JOBS = [
  jobSpec('rebuild-search-index', BETWEEN, { tags: ['search'] }),
  ...SHOP.filter(({ name }) => ['recompute-prices', 'import-orders'].includes(name)),
];

let browser: Browser;
let server: DashboardServer;
let page: Page & { readonly troubles: string[] };

async function visit(query = '', options: Parameters<typeof openPage>[1] = {}): Promise<void> {
  page = await openPage(browser, options);
  await page.goto(`${server.url}${query}`);
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

describe('somebody on call', () => {
  it('asks why by a click into the picture, and by a time', async () => {
    await visit('?job=recompute-prices&zone=utc&range=1h');
    const picture = page.locator('svg.runs-over-time');
    await picture.waitFor();
    await page.getByRole('table', { name: 'Runs' }).waitFor();
    await picture.click({ position: { x: 1000, y: 30 } });
    await page.getByRole('link', { name: 'Close' }).waitFor();
    const at = new URL(page.url()).searchParams.get('at') ?? '';
    await expect.poll(() => page.getByLabel('Why, for this time').inputValue()).toContain(at.slice(0, 16));
    await page.getByLabel('Why, for this time').fill('2026-01-01T00:00:30');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('Not due').waitFor();
  });

  it('finds a line in the log, links to it, and downloads it', async () => {
    await visit('?job=rebuild-search-index&outcome=bad');
    await page.getByRole('table', { name: 'Runs' }).locator('a.job').last().click();
    const log = page.getByRole('log');
    await log.getByText('opening the index').waitFor();
    await expect.poll(() => log.locator('.ansi-yellow').innerText()).toBe('slow');
    await page.getByLabel('Find in the log').fill('SLOW');
    await page.getByText('1 of 1').waitFor();
    await expect.poll(() => log.locator('.marked').innerText()).toContain('slow answer');
    await page.getByLabel('Find in the log').fill('');
    await log.getByRole('link').first().click();
    await expect.poll(() => new URL(page.url()).searchParams.get('line')).toMatch(/^\d+\.1$/);
    await page.reload();
    await expect.poll(() => log.locator('.marked').innerText()).toContain('opening the index');
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download' }).click(),
    ]);
    expect(file.suggestedFilename()).toMatch(/^rebuild-search-index-.*\.log$/);
  });

  it('runs a due time again with another input, and finds the change with its reason', async () => {
    await visit('?job=rebuild-search-index&outcome=bad');
    await page.getByRole('table', { name: 'Runs' }).locator('a.job').last().click();
    await page.getByRole('button', { name: 'Run again' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Input in JSON').fill('{"index": ');
    await dialog.getByLabel('Note,').fill('the index is writable again');
    await dialog.getByRole('button', { name: 'Run again' }).click();
    await dialog.getByText('The input is not JSON').waitFor();
    await dialog.getByLabel('Input in JSON').fill('{"index": "products-2"}');
    // The announcement goes away by itself, and a click waits for the page that it leads to.
    const announced = page.getByText('The run is requested.').waitFor();
    await dialog.getByRole('button', { name: 'Run again' }).click();
    await announced;
    await page.getByText('by key: the index is writable again').waitFor({ timeout: 90_000 });
    await page.getByRole('link', { name: 'rebuild-search-index' }).click();
    const runs = page.getByRole('table', { name: 'Runs' });
    await page.getByLabel('What started the runs').selectOption('Manual run');
    await expect.poll(() => runs.locator('a.job').count()).toBe(1);
    await expect.poll(() => runs.innerText()).toContain('manual run · of-admin');
    await runs.getByRole('link', { name: 'of-admin' }).click();
    await expect.poll(() => new URL(page.url()).search).toContain('trigger=manual&actor=of-admin');
    await page.getByLabel('From where they were requested').selectOption('A shell');
    await page.getByRole('heading', { name: 'No run matches' }).waitFor();
    await page.goBack();
    await runs.waitFor();
    await page.getByLabel('Who requested the runs').fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Show all runs' }).click();
    await expect.poll(() => runs.locator('a.job').count()).toBeGreaterThan(1);
    await page.getByRole('link', { name: 'Changes' }).click();
    const row = page.getByRole('row').filter({ hasText: 'the index is writable again' });
    await row.waitFor();
    await expect
      .poll(() => row.innerText())
      .toMatch(/\d\d:\d\d:\d\d[^]*Done[^]*of-admin[^]*rerun rebuild-search-index/);
    await page.getByRole('searchbox').fill('cordon');
    await row.waitFor({ state: 'detached' });
    await page.getByRole('searchbox').fill('rerun writable');
    await row.waitFor();
    await page.getByLabel('What was changed').selectOption('pause');
    await page.getByText('No change matches').waitFor();
    await page.getByLabel('What was changed').selectOption('rerun');
    await page.getByLabel('From where it was changed').selectOption('key');
    await page.getByLabel('When the changes were made').selectOption('1');
    await row.waitFor();
    expect(page.url()).toMatch(/action=rerun.*channel=key.*hours=1/);
    await page.setViewportSize({ width: 360, height: 740 });
    // No name is broken there.
    expect((await row.getByRole('link', { name: 'rebuild-search-index' }).boundingBox())?.height).toBeLessThan(24);
    expect(await seriousFindings(page)).toEqual([]);
    await row.getByText('before and after').click();
    await expect.poll(() => row.innerText()).toContain('products-2');
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('cordons a deployment, which everybody sees, and lifts that', async () => {
    await visit();
    await page.getByRole('list', { name: 'Deployments' }).getByRole('link', { name: 'd1' }).click();
    const card = page.getByRole('list', { name: 'Deployments' }).getByRole('listitem').first();
    await card.getByText('serves this page').waitFor();
    await expect.poll(() => card.innerText()).toMatch(/Live[^]*Last tick reported[^]*revision 0[^]*right[^]*proven/);
    expect(await seriousFindings(page)).toEqual([]);
    await card.getByRole('button', { name: 'Cordon' }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.innerText()).toContain('production');
    await page.getByLabel('Note,').fill('a new disk');
    await dialog.getByRole('button', { name: 'Cordon' }).click();
    await card.getByText(/^Cordoned by of-admin, .*: a new disk/).waitFor();
    await page.getByText('1 deployment claims due times').waitFor();
    await page.getByRole('link', { name: 'Jobs', exact: true }).click();
    await page.getByText('cordoned by of-admin: a new disk').waitFor();
    await page.goBack();
    await card.getByRole('button', { name: 'Lift cordon' }).click();
    await dialog.getByRole('button', { name: 'Lift cordon' }).click();
    await card.getByText('Live').waitFor();
  });

  it('acknowledges failures, which puts the job below those that nobody looks after, and lifts that', async () => {
    await visit('?job=rebuild-search-index');
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    const dialog = page.getByRole('dialog', { name: 'Acknowledge the failures of rebuild-search-index?' });
    await dialog.getByLabel('Note,').fill('a new index is on its way');
    await dialog.getByLabel('End').fill('2099-01-01T00:00');
    await dialog.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText('by of-admin: a new index is on its way').waitFor();
    await expect
      .poll(() => page.locator('.facts').first().innerText())
      .toMatch(/Failing[^]*failed run[^]*until 1 Jan 2099/);
    await page.getByRole('link', { name: 'Jobs', exact: true }).first().click();
    await page.getByText('No job needs attention').waitFor();
    const row = page.getByRole('row').filter({ hasText: 'rebuild-search-index' });
    await expect.poll(() => row.innerText()).toMatch(/Acknowledged\s+failing, by of-admin: a new index/);
    await page.getByRole('link', { name: 'Acknowledged 1' }).click();
    await expect.poll(() => page.locator('a.job').allTextContents()).toEqual(['rebuild-search-index']);
    expect(await seriousFindings(page)).toEqual([]);
    await page.locator('a.job').click();
    await page.getByRole('button', { name: 'Lift acknowledgement' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Lift acknowledgement' }).click();
    await page.getByRole('button', { name: 'Acknowledge', exact: true }).waitFor();
  });

  it('starts maintenance of a tag, which everybody sees, and ends it with a list of the skipped due times', async () => {
    await visit();
    await page.getByRole('button', { name: 'Start maintenance' }).click();
    const dialog = page.getByRole('dialog', { name: 'Start maintenance?' });
    await expect.poll(() => dialog.innerText()).toContain('production');
    await dialog.getByText('3 jobs chosen.').waitFor();
    await dialog.getByLabel('Which jobs').selectOption('Names that match');
    await dialog.getByLabel('Pattern').fill('re*');
    await dialog.getByText('2 jobs chosen.').waitFor();
    await dialog.getByLabel('Which jobs').selectOption('Tag orders');
    await dialog.getByText('1 job chosen.').waitFor();
    await dialog.getByLabel('Note,').fill('the database moves');
    await dialog.getByLabel('End').fill('2020-01-01T00:00');
    await dialog.getByRole('button', { name: 'Pause these jobs' }).click();
    await page.getByText('1 job was left alone: the pause is to end at 2020-01-01').waitFor();
    await page.getByRole('button', { name: 'Start maintenance' }).click();
    await dialog.getByLabel('Which jobs').selectOption('Tag orders');
    await dialog.getByLabel('Note,').fill('the database moves');
    await dialog.getByRole('button', { name: 'Pause these jobs' }).click();
    await page.getByText('of-admin paused tag orders: the database moves.').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await server.sim.clock.advance(3 * MINUTE);
    await page.getByRole('button', { name: 'End maintenance' }).click();
    const question = page.getByRole('dialog', { name: 'End the maintenance of tag orders?' });
    await expect.poll(() => question.innerText()).toContain('production');
    await question.getByRole('button', { name: 'End maintenance' }).click();
    const missed = page.getByRole('dialog', { name: 'Skipped due times' });
    await expect.poll(() => missed.innerText()).toMatch(/import-orders \d+ due times/);
    await expect.poll(() => missed.getByRole('listitem').count()).toBeGreaterThanOrEqual(3);
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await missed.waitFor({ state: 'detached' });
    await page.getByText('of-admin paused').waitFor({ state: 'detached' });
  });

  it('requests a run, and sees it run', async () => {
    await visit('?job=import-orders');
    await page.getByRole('button', { name: 'Run now' }).click();
    const button = page.getByRole('dialog').getByRole('button', { name: 'Run now' });
    // It is refused while the run of this minute is in progress.
    const ask = async (): Promise<string> => {
      if ((await button.count()) > 0) await button.click();
      return page.url();
    };
    await expect.poll(ask, { timeout: 90_000, interval: 1_000 }).toMatch(/[?&]run=import-orders-/);
    // A sweep, once a minute, finds the manual run.
    await page.getByText('Started by').waitFor({ timeout: 90_000 });
    await expect.poll(() => page.locator('.facts').innerText()).toContain('manual run');
  });

  it('reads that somebody else was faster, and nothing is changed twice', async () => {
    await visit('?job=import-orders');
    await page.getByRole('button', { name: 'Pause' }).click();
    const other = await openPage(browser);
    await other.goto(`${server.url}?job=import-orders`);
    await other.getByRole('button', { name: 'Pause' }).click();
    await other.getByLabel('Note,').fill('first');
    await other.getByRole('button', { name: 'Pause job' }).click();
    await other.getByText('by of-admin: first').waitFor();
    await page.getByLabel('Note,').fill('second');
    await page.getByRole('button', { name: 'Pause job' }).click();
    await page.getByRole('alert').waitFor();
    await expect.poll(() => page.getByRole('alert').innerText()).toMatch(/read the job again|already paused/i);
    await page.getByRole('button', { name: 'Leave it running' }).click();
    await other.getByRole('button', { name: 'Resume' }).click();
    await other.getByRole('button', { name: 'Resume job' }).click();
    await other.getByRole('button', { name: 'Pause' }).waitFor();
    await other.context().close();
  });
});

describe('the pages of a job and of a run', () => {
  it.each([
    ['light', 1280],
    ['dark', 360],
  ] as const)('are accessible in the %s theme at a width of %i', async (colorScheme, width) => {
    await visit('?job=recompute-prices', { colorScheme, viewport: { width, height: 740 } });
    await page.getByRole('table', { name: 'Runs' }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    expect(await pageWidth(page)).toBeLessThanOrEqual(width);
    await page.getByRole('table', { name: 'Runs' }).locator('a.job').last().click();
    await page.getByRole('heading', { name: 'Attempts' }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    expect(await pageWidth(page)).toBeLessThanOrEqual(width);
  });

  it.each([
    ['?job=no-such-job', 'There is no such job'],
    ['?job=%3Cb%3E', 'The job cannot be shown'],
    ['?run=import-orders-20200101T000000Z', 'This run has no record'],
    ['?job=import-orders&outcome=stalled', 'No run matches'],
  ])('explain themselves at %s', async (query, heading) => {
    await visit(query);
    await page.getByRole('heading', { name: heading }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });
});

describe('the page of a run that is over', () => {
  const retry = { attempts: 2, backoffMs: 1_000, factor: 1, maxBackoffMs: 1_000, jitter: 'none' } as const;
  const jobs = [jobSpec('long', '* * * * *', { timeoutMs: 10 * MINUTE }), jobSpec('flaky', '*/2 * * * *', { retry })];

  async function open(job: string): Promise<void> {
    const { url } = other;
    page = await openPage(browser);
    await page.goto(`${url}?job=${job}&outcome=succeeded`);
    await page.getByRole('table', { name: 'Runs' }).locator('a.job').first().click();
    await page.getByRole('heading', { name: 'Attempts' }).waitFor();
  }

  let other: DashboardServer;
  beforeAll(async () => {
    other = await serveDashboard({
      ...{ jobs, deployments: 1, pastMs: 12 * MINUTE },
      async handler({ job, attempt, log }, on) {
        if (job === 'long') await sleep(on.coordinator.clock, 150_000);
        log(`try ${String(attempt)}`);
        if (job === 'flaky' && attempt === 1) throw new Error('not yet');
      },
    });
  });
  afterAll(() => other.close());

  it('leads to the due times that it overlapped, which lead back', async () => {
    await open('long');
    const address = page.url();
    const fact = page.locator('.facts div').filter({ hasText: 'Overlapped' });
    await fact.getByRole('link', { name: '2 due times' }).click();
    await page.getByRole('heading', { name: /^Due time/ }).waitFor();
    await page.getByRole('link', { name: 'the run before it' }).click();
    await expect.poll(() => page.url()).toBe(address);
  });

  it('names the attempts in its log, and that it overlapped nothing', async () => {
    await open('flaky');
    const fact = page.locator('.facts div').filter({ hasText: 'Overlapped' });
    await fact.getByText('no due time').waitFor();
    await page.getByRole('log').getByText('try 2').waitFor();
    await expect.poll(() => page.getByRole('log').innerText()).toMatch(/try 1[^]*Attempt 2[^]*try 2/);
    await expect.poll(() => page.getByRole('log').locator('.next-attempt').count()).toBe(1);
  });

  it('has a place in the list of runs where the words of a row stand on one line', async () => {
    await visit('?job=rebuild-search-index&outcome=bad');
    const cell = page.getByRole('table', { name: 'Runs' }).locator('td.r-outcome').first();
    await cell.waitFor();
    const bottoms = await page.evaluate<readonly number[]>(`
      ['.badge', '.muted a'].map((part) => {
        const range = document.createRange();
        range.selectNodeContents(document.querySelector('td.r-outcome ' + part).lastChild);
        return range.getBoundingClientRect().bottom;
      })`);
    expect(bottoms).toHaveLength(2);
    expect(Math.abs((bottoms[0] ?? 0) - (bottoms[1] ?? 9))).toBeLessThan(1);
  });
});

describe('the page of the deployments', () => {
  const ALONE = { jobs: [jobSpec('a', '* * * * *')], deployments: 1, timersDead: true, pastMs: 0 } as const;

  it('starts a tick of the deployment that serves it, if that is silent', async () => {
    const alone = await serveDashboard(ALONE);
    await alone.sim.clock.advance(15 * MINUTE);
    page = await openPage(browser);
    await page.goto(`${alone.url}?view=deployments`);
    await page.getByText('Silent').waitFor();
    await page.getByText('None of them claims anything new').waitFor();
    await page.getByRole('button', { name: 'Poke' }).click();
    await page.getByRole('dialog', { name: 'Start a tick of d1?' }).getByRole('button', { name: 'Poke' }).click();
    await page.getByText(/^Deployment d1 has ticked[.:] /).waitFor();
    expect(alone.requests).toContain('POST poke');
    expect(await seriousFindings(page)).toEqual([]);
    await alone.close();
  });

  it('names clocks, files and task hubs that are wrong, and hostile names as text', async () => {
    const alone = await serveDashboard({ ...ALONE, jobs: [] });
    const wrong = { instance: 'a', hub: 'hub@account', version: '<b>1</b>', revision: 3, jobs: '0'.repeat(16) };
    const now = alone.sim.clock.now();
    await alone.sim.store.writePresence(
      'west',
      encodePresence({
        ...wrong,
        tickedAt: now,
        hubProven: false,
        tickEveryMs: 15_000,
        skewMs: -4_000,
        rival: undefined,
      }),
      undefined,
    );
    page = await openPage(browser, { viewport: { width: 360, height: 740 } });
    await page.goto(`${alone.url}?view=deployments`);
    const west = page.getByRole('listitem').filter({ hasText: 'west' });
    await expect.poll(() => west.innerText()).toMatch(/<b>1<\/b>[^]*4 s behind[^]*has run nothing yet/);
    await expect.poll(() => page.getByRole('listitem').first().innerText()).toContain('older than another one');
    expect(await seriousFindings(page)).toEqual([]);
    expect(await pageWidth(page)).toBeLessThanOrEqual(360);
    // The names of all pages fit.
    const names = page.getByRole('navigation', { name: 'Pages' });
    expect(await names.evaluate((nav) => nav.scrollWidth - nav.clientWidth)).toBe(0);
    await alone.close();
  });

  it('explains itself where none has ticked', async () => {
    const alone = await serveDashboard({ ...ALONE, reported: false });
    page = await openPage(browser);
    await page.goto(`${alone.url}?view=deployments`);
    await page.getByRole('heading').nth(1).waitFor();
    await expect
      .poll(() => page.getByRole('main').innerText())
      .toContain('No deployment has reported a tick in the last week');
    expect(await seriousFindings(page)).toEqual([]);
    await alone.close();
  });
});
