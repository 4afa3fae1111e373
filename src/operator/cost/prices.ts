export const PRICE_NAMES = [
  'onDemandGbSecond',
  'onDemandExecution',
  'alwaysReadyGbSecond',
  'alwaysReadyExecutionGbSecond',
  'alwaysReadyExecution',
  'blobList',
  'blobWrite',
  'blobRead',
  'blobOther',
  'hostBlobWrite',
  'queueCall',
  'tableCall',
  'logGb',
  'availabilityTest',
  'logAlertEvery5Minutes',
  'logAlertEvery15Minutes',
  'metricAlert',
] as const;

export type PriceName = (typeof PRICE_NAMES)[number];

interface Price {
  /** The price of `per` units. */
  readonly price: number;
  readonly per: number;
  /** Units a month that are free, once for a subscription. */
  readonly free: number;
  readonly source: string;
}

export interface Prices {
  readonly currency: string;
  readonly region: string;
  /** The day on which the prices were written down: `2026-11-22`. */
  readonly asOf: string;
  /** Whether they were compared with their sources on that day. */
  readonly checked: boolean;
  readonly prices: Readonly<Record<PriceName, Price>>;
}

/** A file of prices that cannot be used. The message names the place, the value and the remedy. */
export class PricesError extends Error {
  readonly code = 'InvalidPrices';
  override readonly name = 'PricesError';
}

/** Reads a file of prices, which `file` names in messages. Throws {@link PricesError}. */
export function readPrices(value: unknown, file: string): Prices {
  const top = objectAt(value, file, '$', 'must be an object as in prices.json of the package');
  const given = objectAt(top['prices'], file, 'prices', 'must be an object of prices by name');
  const unknown = Object.keys(given).find((name) => !PRICE_NAMES.some((known) => known === name));
  if (unknown !== undefined) {
    throw refused(file, `prices.${unknown}`, given[unknown], 'is not a price', `use ${PRICE_NAMES.join(', ')}`);
  }
  const asOf = textAt(top['asOf'], file, 'asOf', 'must be the day of the prices, such as "2026-11-22"');
  if (!/^\d{4}-\d\d-\d\d$/.test(asOf)) {
    throw refused(file, 'asOf', asOf, 'is not a date', 'must be the day of the prices, such as "2026-11-22"');
  }
  if (typeof top['checked'] !== 'boolean') {
    const remedy = 'set it to true once you have checked the prices';
    throw refused(file, 'checked', top['checked'], 'is not true or false', remedy);
  }
  return {
    currency: textAt(top['currency'], file, 'currency', 'must be a currency, such as "USD"'),
    region: textAt(top['region'], file, 'region', 'must be the region of the prices, such as "East US"'),
    asOf,
    checked: top['checked'],
    prices: Object.fromEntries(
      PRICE_NAMES.map((name) => [name, priceAt(given[name], file, `prices.${name}`)]),
    ) as Record<PriceName, Price>,
  };
}

function priceAt(value: unknown, file: string, path: string): Price {
  const entry = objectAt(value, file, path, 'must be such as {"price": 0.4, "per": 1000000, "source": "https://…"}');
  const { price, per, free = 0 } = entry;
  if (!isAmount(price)) throw refused(file, `${path}.price`, price, 'is not a price', 'must be a number from 0');
  if (!isAmount(per) || per === 0)
    throw refused(file, `${path}.per`, per, 'is not a quantity', 'must be a number above 0');
  if (!isAmount(free)) throw refused(file, `${path}.free`, free, 'is not a quantity', 'must be a number from 0');
  const source = textAt(entry['source'], file, `${path}.source`, 'must be the address of the page of this price');
  return { price, per, free, source };
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function objectAt(value: unknown, file: string, path: string, remedy: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw refused(file, path, value, value === undefined ? 'is missing' : 'is not an object', remedy);
}

function textAt(value: unknown, file: string, path: string, remedy: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw refused(file, path, value, value === undefined ? 'is missing' : 'is not text', remedy);
}

function refused(file: string, path: string, value: unknown, problem: string, remedy: string): PricesError {
  const shown = value === undefined ? '' : ` = ${JSON.stringify(value).slice(0, 80)}`;
  return new PricesError(`${file}: ${path}${shown} ${problem}: ${remedy}`);
}
