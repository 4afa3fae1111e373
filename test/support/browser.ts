import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  type Browser,
  type BrowserContextOptions,
  type Locator,
  type Page,
  type Request,
  chromium,
} from 'playwright-core';
import type { AxeResults } from 'axe-core';
import { pathOf } from './needs';

export async function openBrowser(): Promise<Browser> {
  const executablePath = pathOf('chromium');
  if (executablePath === undefined) {
    throw new Error('chromium is missing: run "apt-get install chromium", or set CHROMIUM to the file to run');
  }
  // A container has no sandbox, and the pages are ours.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
}

interface Seen {
  /** Violations of the content security policy, errors of the console, exceptions. */
  readonly troubles: string[];
  /** Requests that have no answer yet. */
  readonly inFlight: ReadonlySet<Request>;
}

/** Runs in the page. */
const WATCH = `
  document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
    noteTrouble(['policy:', violatedDirective, blockedURI, sample].join(' ')),
  );
  globalThis.shift = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) globalThis.shift += value;
  }).observe({ type: 'layout-shift', buffered: true });
`;

/** A page that notes every trouble, and how far its layout has jumped. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page & Seen> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  const troubles: string[] = [];
  page.on('pageerror', (error) => troubles.push(`exception: ${error.message}`));
  page.on('console', (message) => {
    // A server that is away, or refuses, is not a trouble of the page.
    const isNetwork = /Failed to load resource/.test(message.text());
    if (message.type() === 'error' && !isNetwork) troubles.push(`console: ${message.text()}`);
  });
  const inFlight = new Set<Request>();
  page.on('request', (request) => inFlight.add(request));
  page.on('requestfinished', (request) => inFlight.delete(request));
  page.on('requestfailed', (request) => inFlight.delete(request));
  await page.exposeFunction('noteTrouble', (text: string) => troubles.push(text));
  await page.addInitScript(WATCH);
  return Object.assign(page, { troubles, inFlight });
}

/** How far the layout has jumped without a person's doing: the sum of all shifts. */
export function layoutShift(page: Page): Promise<number> {
  return page.evaluate<number>('globalThis.shift');
}

const AXE = readFileSync(createRequire(__filename).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds serious or critical, each with its elements. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`);
}

/** As if another tab covered the page, or uncovered it. */
export async function setHidden(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, 'hidden', { value: ${String(hidden)}, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  `);
}

/** The least contrast that any of these texts of a picture has with the surface below it, by the formula of WCAG. */
export function leastContrast(page: Page, texts: string, surface: string): Promise<number> {
  return page.evaluate<number>(`(() => {
    const luminance = (color) => {
      const [r, g, b] = color.match(/[\\d.]+/g).map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const below = luminance(getComputedStyle(document.querySelector('${surface}')).backgroundColor);
    const all = [...document.querySelectorAll('${texts}')].map((text) => {
      const style = getComputedStyle(text);
      const [dark, light] = [below, luminance(text instanceof SVGElement ? style.fill : style.color)].sort((a, b) => a - b);
      return (light + 0.05) / (dark + 0.05);
    });
    return Math.min(...all);
  })()`);
}

/** The texts of these elements, and of those in them, that have no room and are cut. */
export function cutTexts(page: Page, selector: string): Promise<readonly string[]> {
  return page.evaluate<string[]>(`
    [...document.querySelectorAll('${selector}')]
      .flatMap((one) => [one, ...one.querySelectorAll('*')])
      .filter((one) => getComputedStyle(one).overflow !== 'visible')
      .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1)
      .map(({ textContent }) => textContent)
  `);
}

/** How wide the page is, with what one would have to scroll to. */
export function pageWidth(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth');
}

/**
 * How long the page takes from its opening until it shows something, in milliseconds. A busy machine may stall one
 * opening: one that takes longer than `limitMs` is repeated, twice at most.
 */
export async function timeToShow(page: Page, shown: Locator, limitMs: number): Promise<number> {
  let best = Infinity;
  for (let opening = 1; ; opening += 1) {
    await shown.waitFor();
    best = Math.min(best, await page.evaluate<number>('performance.now()'));
    if (best < limitMs || opening === 3) return best;
    await page.reload();
  }
}

/** Presses the key of the search until the page, which may still be starting, has moved the focus there. */
export async function startSearch(page: Page): Promise<void> {
  const isSearching = () => page.evaluate<boolean>("document.activeElement.type === 'search'");
  while (!(await isSearching())) await page.keyboard.press('/');
}
