import { batch, computed, signal } from '@preact/signals';

/** Everything that a page shows is in the address, so that Back, a reload and a link in a chat show the same. */
export type Params = Readonly<Record<string, string | undefined>>;

const search = signal(location.search);
const hash = signal(location.hash);

const params = computed(() => new URLSearchParams(search.value));

export const fragment = computed(() => hash.value.slice(1));

export function param(name: string): string | undefined {
  return params.value.get(name) ?? undefined;
}

export function hasParam(...names: readonly string[]): boolean {
  return names.some((name) => param(name) !== undefined);
}

/** The longest time back that a page looks: ten years. */
const MOST_HOURS = 24 * 366 * 10;

/** The instant so many hours before another; undefined: there are none, or no instant lies as far back. */
export function hoursBefore(now: number, text = param('hours')): Date | undefined {
  const hours = Number(text);
  return hours > 0 && hours <= MOST_HOURS ? new Date(now - hours * 3_600_000) : undefined;
}

export function pageNumber(): number {
  return Math.max(1, Math.trunc(Number(param('page') ?? 1)) || 1);
}

/** The address of a page. Of the page that is open, only the zone stays. */
export function pageOf(page: Params): string {
  return hrefOf({ ...page, zone: param('zone') });
}

/** The address of the page that is open, with other parameters. */
export function changed(changes: Params): string {
  return hrefOf({ ...Object.fromEntries(params.value), ...changes });
}

function hrefOf(values: Params): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined && value !== '') query.set(name, value);
  const text = query.toString();
  // A link to a mere "?" would keep nothing, and an empty one the whole query.
  return text === '' ? '.' : `?${text}`;
}

/** @param how `replace`: what is typed or chosen on a page makes no separate entry in the history */
export function go(href: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', href);
  else history.replaceState(null, '', href);
  readAddress();
}

export function followHistory(): void {
  addEventListener('popstate', readAddress);
}

function readAddress(): void {
  batch(() => {
    search.value = location.search;
    hash.value = location.hash;
  });
}
