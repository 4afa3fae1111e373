/** The share of a random property's runs: `npm test` plays a quarter of them, and `npm run test:all` all. */
const SHARE = Number(process.env['RUNS'] ?? 0.25);

/**
 * The number of a property's runs in this run of the tests.
 *
 * @param whole How many give enough evidence. `RUNS=20` plays 20 times as many.
 */
export function runs(whole: number): number {
  return Math.ceil(whole * SHARE);
}

/** Every fourth of these values where a run of the tests plays a quarter, and all where it plays all. */
export function shareOf<Value>(values: readonly Value[]): Value[] {
  const step = Math.max(1, Math.round(1 / SHARE));
  return values.filter((_, index) => index % step === 0);
}
