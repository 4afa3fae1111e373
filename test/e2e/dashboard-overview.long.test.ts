import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { NonRetryableError } from '../../src/handler/handler';
import {
  layoutShift,
  openBrowser,
  openPage,
  pageWidth,
  seriousFindings,
  setHidden,
  startSearch,
} from '../support/browser';
import { type DashboardServer, serveDashboard } from '../support/dashboard';
import { jobSpec } from '../support/job';
import { pauseJob, resumeJob } from '../support/by-operator';

const MINUTE = 60_000;
const HOSTILE = '<img src=x onerror="document.title=1">"\'&\u202e';

const JOBS = [
  jobSpec('good', '* * * * *', { tags: ['mail'], description: HOSTILE }),
  jobSpec('bad', '* * * * *', { tags: ['billing', HOSTILE] }),
  jobSpec('still', '* * * * *'),
  jobSpec('off', '* * * * *', { enabled: false }),
];

let browser: Browser;
const open: { page?: Awaited<ReturnType<typeof openPage>> } = {};
let server: DashboardServer | undefined;

async function visit(query: string, options: Parameters<typeof openPage>[1] = {}): Promise<Page> {
  open.page = await openPage(browser, options);
  await open.page.goto(`${server?.url ?? ''}${query}`);
  return open.page;
}

async function start(options: Partial<Parameters<typeof serveDashboard>[0]> = {}): Promise<DashboardServer> {
  server = await serveDashboard({
    jobs: JOBS,
    handler: ({ job }) => {
      if (job === 'bad') throw new NonRetryableError('it is broken');
    },
    deployments: 2,
    pastMs: 5 * MINUTE,
    ...options,
  });
  return server;
}

function names(page: Page): Promise<string[]> {
  return page.locator('a.job').allTextContents();
}

beforeAll(async () => {
  browser = await openBrowser();
});

afterEach(async () => {
  const troubles = open.page?.troubles ?? [];
  await open.page?.context().close();
  await server?.close();
  delete open.page;
  server = undefined;
  expect(troubles).toEqual([]);
});

afterAll(() => browser.close());

describe('the overview', () => {
  it('shows the worst first, with its outcomes, and hostile texts as text', async () => {
    const { sim } = await start({ environment: { name: 'production', color: 'red' } });
    const spec = JOBS[2];
    if (spec === undefined) throw new Error('there is no third job');
    await pauseJob(sim.store, { name: spec.name, spec }, { by: 'anna', note: HOSTILE });
    const page = await visit('');
    await page.locator('a.job').first().waitFor();
    await expect.poll(() => names(page)).toEqual(['bad', 'good', 'still', 'off']);
    const rows = page.locator('tbody tr');
    await expect.poll(() => rows.nth(0).innerText()).toMatch(/Failing\s+\d failures in a row/);
    await expect
      .poll(() => rows.nth(0).getByRole('img').getAttribute('aria-label'))
      .toMatch(/^Last outcomes: \d failed$/);
    await expect.poll(() => rows.nth(1).innerText()).toContain(HOSTILE);
    await expect.poll(() => rows.nth(2).innerText()).toContain(`Paused\nby anna: ${HOSTILE}`);
    await expect
      .poll(() => page.getByRole('list', { name: 'Deployments' }).innerText())
      .toMatch(/d1\s*Live[^]*d2\s*Live/);
    await expect.poll(() => page.title()).toBe('Jobs · production · cronlease');
    await expect.poll(() => page.locator('img').count()).toBe(0);
  });

  it('has its filters in the address, where Back finds them', async () => {
    await start();
    const page = await visit('');
    await page.getByRole('link', { name: 'Failing 1' }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('?state=failing');
    await expect.poll(() => names(page)).toEqual(['bad']);
    await page.getByRole('link', { name: /^All/ }).click();
    await expect.poll(() => names(page)).toHaveLength(4);
    await page.goBack();
    await expect.poll(() => names(page)).toEqual(['bad']);
    await page.getByRole('link', { name: /^All/ }).click();
    await startSearch(page);
    await page.keyboard.type('MAIL');
    await expect.poll(() => names(page)).toEqual(['good']);
    await page.getByRole('searchbox').fill('no such job');
    await page.getByRole('heading', { name: 'No job matches' }).waitFor();
    await page.getByRole('link', { name: 'Show all jobs' }).click();
    await page.getByLabel('Tag').selectOption('billing');
    await expect.poll(() => names(page)).toEqual(['bad']);
    await page.reload();
    await expect.poll(() => names(page)).toEqual(['bad']);
    await page.getByLabel('Time zone').selectOption('utc');
    await expect.poll(() => new URL(page.url()).search).toBe('?tag=billing&zone=utc');
  });

  it('moves no row until a person asks', async () => {
    const jobs = [jobSpec('a', '@every 1h'), jobSpec('b', '@every 2h')];
    const { sim } = await start({ jobs, pastMs: MINUTE });
    const page = await visit('');
    await page.locator('a.job').first().waitFor();
    await expect.poll(() => names(page)).toEqual(['a', 'b']);
    const [spec] = jobs;
    if (spec === undefined) throw new Error('there is no first job');
    const subject = { name: spec.name, spec };
    await pauseJob(sim.store, subject, { by: 'anna', note: 'a test' });
    const again = page.getByRole('button', { name: 'Show', exact: true });
    await again.waitFor();
    await expect.poll(() => page.locator('tbody tr').first().innerText()).toContain('Paused');
    await expect.poll(() => names(page)).toEqual(['a', 'b']);
    expect(await layoutShift(page)).toBeLessThan(0.02);
    await again.click();
    await expect.poll(() => names(page)).toEqual(['b', 'a']);
    await resumeJob(sim.store, subject);
    await again.waitFor();
    await expect.poll(() => names(page)).toEqual(['b', 'a']);
  });

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 360],
  ] as const)('is accessible in the %s theme at a width of %i', async (colorScheme, width) => {
    await start();
    const page = await visit('', { colorScheme, viewport: { width, height: 740 } });
    await page.locator('a.job').first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    expect(await pageWidth(page)).toBeLessThanOrEqual(width);
  });

  it('is quick with 1,000 jobs, page by page, and does not jump', async () => {
    const jobs = Array.from({ length: 1_000 }, (_, index) =>
      jobSpec(`job-${String(index).padStart(4, '0')}`, '@daily'),
    );
    await start({ jobs, pastMs: MINUTE, deployments: 1 });
    const page = await visit('');
    await page.locator('a.job').first().waitFor();
    await expect.poll(() => names(page)).toHaveLength(100);
    // A shift soon after a click counts as wanted, and a busy machine may be late: only the opening is without clicks.
    expect(await layoutShift(page)).toBeLessThan(0.02);
    await page.getByRole('link', { name: 'Next', exact: true }).click();
    await expect.poll(async () => (await names(page))[0]).toBe('job-0100');
    await expect
      .poll(() => page.getByRole('navigation', { name: 'Pages of jobs' }).innerText())
      .toContain('101 to 200 of 1000');
    await page.getByRole('searchbox').fill('job-0999');
    await expect.poll(() => names(page)).toEqual(['job-0999']);
  });

  it('starts maintenance of the jobs that a search lists, and ends it, although one was resumed before', async () => {
    const jobs = Array.from({ length: 20 }, (_, index) =>
      jobSpec(`job-${String(index).padStart(2, '0')}`, '@daily', { tags: [index < 12 ? 'early' : 'late'] }),
    );
    const { sim } = await start({ jobs, deployments: 1 });
    const page = await visit('?q=job-0');
    await page.getByRole('button', { name: 'Start maintenance' }).click();
    const dialog = page.getByRole('dialog', { name: 'Start maintenance?' });
    await dialog.getByText('10 jobs chosen.').waitFor();
    await expect.poll(() => dialog.getByLabel('Which jobs').inputValue()).toBe('listed');
    await dialog.getByLabel('Which jobs').selectOption('All jobs');
    await dialog.getByText('20 jobs chosen.').waitFor();
    await dialog.getByLabel('Which jobs').selectOption('The 10 jobs of the list');
    await dialog.getByLabel('Note,').fill('the database moves');
    await dialog.getByRole('button', { name: 'Pause these jobs' }).click();
    await page.getByText('paused job-00, job-01, job-02, job-03, job-04 and 5 more: the database moves.').waitFor();
    const [, spec] = jobs;
    if (spec === undefined) throw new Error('there is no second job');
    await resumeJob(sim.store, { name: spec.name, spec });
    await page.getByRole('button', { name: 'End maintenance' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End maintenance' }).click();
    await page.getByText('of-admin paused job-00').waitFor({ state: 'detached' });
    await page.getByText('9 jobs are resumed').waitFor();
    await page.getByRole('link', { name: 'All 10' }).waitFor();
    await expect.poll(() => page.getByRole('link', { name: 'Paused' }).count()).toBe(0);
  });

  it('keeps what it has while the server is away, and goes on when it is back', async () => {
    const { goAway, comeBack, sim } = await start();
    const page = await visit('');
    await page.locator('a.job').first().waitFor();
    await goAway();
    await page.getByText('This page is out of date: the app does not answer.').waitFor();
    await expect.poll(() => names(page)).toHaveLength(4);
    // The link of the toast stands on its own ground.
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await seriousFindings(page)).toEqual([]);
    }
    const spec = JOBS[2];
    if (spec === undefined) throw new Error('there is no third job');
    await pauseJob(sim.store, { name: spec.name, spec }, { by: 'anna', note: 'a test' });
    await comeBack();
    await page.getByText('This page is out of date').waitFor({ state: 'detached' });
    await page.getByText('by anna: a test').waitFor();
    expect(await layoutShift(page)).toBeLessThan(0.02);
  });

  it('asks nothing while it is hidden, and at once when it is seen again', async () => {
    const { requests, sim } = await start();
    const page = await visit('');
    await page.locator('a.job').first().waitFor();
    await setHidden(page, true);
    await expect.poll(() => open.page?.inFlight.size).toBe(0);
    const before = requests.length;
    const asked = sim.clock.now();
    await expect.poll(() => sim.clock.now() - asked).toBeGreaterThan(2_500);
    expect(requests.slice(before)).toEqual([]);
    await setHidden(page, false);
    await expect.poll(() => requests.slice(before)).toContain('GET jobs');
  });

  it.each([
    ['there are no jobs', { jobs: [] }, 'There are no jobs yet'],
    ['nobody is logged in', { role: undefined }, 'You are not logged in'],
  ] as const)('explains itself where %s', async (_, options, heading) => {
    await start(options);
    const page = await visit('');
    await page.getByRole('heading', { name: heading }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  it('names the error where nothing has ever answered, and tries again by itself', async () => {
    const running = await start();
    running.role = undefined;
    const page = await visit('');
    await page.getByRole('heading', { name: 'You are not logged in' }).waitFor();
    running.role = 'viewer';
    await page.locator('a.job').first().waitFor();
  });
});
