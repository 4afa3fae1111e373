export { settableClock } from '../../src/testing/clock';
export type { SettableClock } from '../../src/testing/clock';
