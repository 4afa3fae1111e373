import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { NonRetryableError } from '../../src/handler/handler';
import { layoutShift, leastContrast, openBrowser, openPage, pageWidth, seriousFindings } from '../support/browser';
import { type DashboardServer, serveDashboard } from '../support/dashboard';
import { jobSpec } from '../support/job';

const MINUTE = 60_000;

/** `long` takes longer than the time between its due times. */
const JOBS = [
  jobSpec('bad', '*/5 * * * *', { tags: ['billing'] }),
  jobSpec('long', '*/5 * * * *'),
  jobSpec('often', '* * * * *'),
  jobSpec('seldom', '0 0 1 1 *'),
];

let browser: Browser;
let server: DashboardServer | undefined;
const open: { page?: Page & { troubles: string[] } } = {};

async function start(options: Partial<Parameters<typeof serveDashboard>[0]> = {}): Promise<void> {
  server = await serveDashboard({
    ...{ jobs: JOBS, deployments: 1, pastMs: 40 * MINUTE },
    handler: async ({ job }, on) => {
      if (job === 'bad') throw new NonRetryableError('it is broken');
      if (job === 'long') await new Promise<void>((resolve) => void on.coordinator.clock.after(7 * MINUTE, resolve));
    },
    ...options,
  });
}

async function visit(query: string, options: Parameters<typeof openPage>[1] = {}): Promise<Page> {
  open.page = await openPage(browser, options);
  await open.page.goto(`${server?.url ?? ''}${query}`);
  return open.page;
}

function names(page: Page): Promise<string[]> {
  return page.locator('.timeline-row a.job').allTextContents();
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

describe('the timeline', () => {
  it('show what has run and what is planned, with overlaps, and count the jobs that are left out', async () => {
    await start();
    const page = await visit('');
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.locator('.timeline-row a.job').first().waitFor();
    const order = await names(page);
    expect(order[0]).toBe('bad');
    expect(order.toSorted()).toEqual(['bad', 'long', 'often']);
    await page.getByText('3 jobs, 1 with nothing in the last or the next 12 hours left out').waitFor();
    const rowOf = (name: string) => page.locator('li.timeline-row').filter({ hasText: name });
    const label = (name: string) => rowOf(name).locator('svg[role=group]').getAttribute('aria-label');
    await expect.poll(() => label('bad')).toMatch(/^bad: \d failed; \d+ planned, the next \d\d:\d\d$/);
    await expect.poll(() => label('long')).toMatch(/^long: .*overlapped.*; runs overlap \d+ times$/);
    await expect.poll(() => label('often')).toMatch(/^often: 20 succeeded.*; 200 and more planned/);
    await expect.poll(() => rowOf('long').locator('.overlap').count()).toBeGreaterThan(2);
    // A shift soon after a click counts as wanted, and a busy machine may be late: an opening is without clicks.
    await page.reload();
    await page.locator('.timeline-row a.job').first().waitFor();
    expect(await layoutShift(page)).toBeLessThan(0.02);
  });

  it('are left and right, up and down with the keyboard, and each run has a name', async () => {
    await start();
    const page = await visit('?view=timeline');
    const first = page.locator('svg[role=group]').first();
    await first.focus();
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => focused()).toMatch(/^bad: failed \d\d:\d\d/);
    await expect.poll(() => page.locator('.readout').innerText()).toMatch(/^bad: failed/);
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => focused()).toMatch(/^bad: planned \d\d:\d\d/);
    await page.keyboard.press('ArrowDown');
    await expect
      .poll(() => page.evaluate<string>('document.activeElement.getAttribute("aria-label")'))
      .toMatch(/^(long|often): /);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^Run of/ }).waitFor();
    await expect.poll(() => new URL(page.url()).searchParams.get('run')).toMatch(/^bad-/);
  });

  it('have their filters in the address', async () => {
    await start();
    const page = await visit('?view=timeline');
    await page.getByRole('link', { name: '±1 h' }).click();
    await page.getByLabel('Tag').selectOption('billing');
    await expect.poll(() => names(page)).toEqual(['bad']);
    await expect.poll(() => new URL(page.url()).search).toBe('?view=timeline&hours=1&tag=billing');
    await page.getByRole('searchbox').fill('nothing like it');
    await page.getByRole('heading', { name: 'No job matches' }).waitFor();
    await page.getByRole('link', { name: 'Show all jobs' }).click();
    await expect.poll(() => names(page)).toHaveLength(3);
  });

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 360],
  ] as const)('are accessible in the %s theme at a width of %i', async (colorScheme, width) => {
    await start();
    const page = await visit('?view=timeline', { colorScheme, viewport: { width, height: 740 } });
    await page.locator('svg[role=group]').first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    expect(await pageWidth(page)).toBeLessThanOrEqual(width);
    // axe measures no text of a picture: "planned at once", and the times below.
    expect(await page.locator('.axis text').first().textContent()).toMatch(/^up to \d$/);
    expect(await leastContrast(page, '.axis text, .axis .muted', '.timeline-row.axis')).toBeGreaterThanOrEqual(4.5);
  });

  it('draw runs shorter than a pixel as one strip in which others stand out, and hatch what is not listed', async () => {
    await start();
    const page = await visit('?view=timeline');
    const rowOf = (name: string) => page.locator('li.timeline-row').filter({ hasText: name });
    await rowOf('often').locator('rect.bar').nth(19).waitFor();
    /** All rectangles at one instant: the picture moves on with the time. */
    const drawn = async (name: string) => {
      const all = await rowOf(name)
        .locator('rect')
        .evaluateAll((rects) =>
          rects.map((one) => [
            one.getAttribute('class') ?? '',
            ...['x', 'width'].map((side) => Number(one.getAttribute(side))),
          ]),
        );
      const of = (wanted: string) =>
        all.filter(([names]) => names === wanted).map(([, x, width]) => ({ x: Number(x), width: Number(width) }));
      return { good: of('bar good'), bad: of('bar bad'), marks: of('mark'), beyond: of('beyond') };
    };
    const often = await drawn('often');
    expect(often.good.map(({ width }) => width)).toEqual(Array.from({ length: 20 }, () => 1));
    const ends = often.good.map(({ x, width }) => x + width);
    expect(often.good.slice(1).every(({ x }, index) => x <= (ends[index] ?? 0))).toBe(true);
    expect([often.bad, often.marks]).toEqual([[], []]);
    const bad = await drawn('bad');
    expect(bad.bad.length).toBeGreaterThan(5);
    expect(bad.bad.every(({ width }) => width >= 3)).toBe(true);
    expect(bad.marks).toEqual(bad.bad);
    expect(bad.beyond).toEqual([]);
    // Twenty outcomes reach 20 minutes back, and 200 due times 200 minutes ahead.
    const width = Number(await rowOf('often').locator('svg[role=group]').getAttribute('width'));
    const [before, after] = often.beyond;
    expect(before).toEqual({ x: 0, width: often.good[0]?.x });
    expect(after?.x).toBeCloseTo(width * (0.5 + 200 / 60 / 24), -1);
    expect((after?.x ?? 0) + (after?.width ?? 0)).toBeCloseTo(width, 3);
    await page.getByText('more than is listed: a row has the last 20 outcomes').waitFor();
    // Nor is it known how many run at once then.
    const [atOnce = []] = await page
      .locator('.axis rect.beyond')
      .evaluateAll((all) => all.map((one) => [Number(one.getAttribute('x'))]));
    expect(atOnce[0]).toBeCloseTo(after?.x ?? 0, -1);
  });

  it('leave the hatch to the timeline of a job whose older runs are not listed', async () => {
    await start({ pastMs: 70 * MINUTE });
    const page = await visit('?job=often&range=6h');
    await page.getByText('Hatched: before the 50 runs that are listed. Click').waitFor();
    const edge = async (rect: string) =>
      page
        .locator(`svg.runs-over-time ${rect}`)
        .evaluateAll((all) => all.map((one) => Number(one.getAttribute('x')) + Number(one.getAttribute('width'))));
    const bars = await edge('rect.bar');
    expect(bars).toHaveLength(50);
    const [beyond = 0] = await edge('rect.beyond');
    expect(beyond).toBeGreaterThan(100);
    expect(Math.abs(Math.min(...bars) - beyond)).toBeLessThan(4);
    await page.goto(`${server?.url ?? ''}?job=bad&range=6h`);
    await page.locator('svg.runs-over-time rect.bar').nth(5).waitFor();
    expect(await edge('rect.beyond')).toEqual([]);
    expect(await page.getByText('Hatched').count()).toBe(0);
  });

  it('of 1,000 jobs come in pages of 50', async () => {
    await start({
      jobs: Array.from({ length: 1_000 }, (_, index) => jobSpec(`job-${String(index).padStart(4, '0')}`, '@hourly')),
      pastMs: MINUTE,
    });
    const page = await visit('?view=timeline');
    await page.locator('.timeline-row a.job').first().waitFor();
    await expect.poll(() => names(page)).toHaveLength(50);
    await expect
      .poll(() => page.getByRole('navigation', { name: 'Pages of jobs' }).innerText())
      .toContain('1 to 50 of 1000');
    expect(await layoutShift(page)).toBeLessThan(0.02);
    await page.getByRole('link', { name: 'Next', exact: true }).click();
    await expect.poll(async () => (await names(page))[0]).toBe('job-0050');
  });

  it.each([
    ['there are no jobs', { jobs: [] }, 'There are no jobs yet'],
    ['nothing is near', { jobs: [jobSpec('seldom', '@manual')] }, /^Nothing ran or is due/],
    ['nobody is logged in', { role: undefined }, 'You are not logged in'],
  ] as const)('explain themselves where %s', async (_, options, heading) => {
    await start(options);
    const page = await visit('?view=timeline');
    await page.getByRole('heading', { name: heading }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });
});
