import type { DrawnKind, OutageKind } from './disturbance';
import type { Rates } from './faults';

/**
 * The main subject of a history. Some faults show only if a few kinds come together often, so some themes also fix
 * values that are otherwise drawn.
 */
export interface Theme {
  readonly kinds: readonly DrawnKind[];
  readonly outages: readonly [OutageKind, ...OutageKind[]];
  /** The rate of failing calls and messages, if it is not drawn. */
  readonly rates?: Partial<Rates>;
  /** All leases are this long. */
  readonly leaseMs?: number;
  /** Handlers take long. */
  readonly longRuns?: true;
  /** Every job is due often and gets another schedule, first where the clocks are a little slow; nothing else fails. */
  readonly changing?: true;
  /** Every job fans out. */
  readonly wide?: true;
  /** Clocks are set while storage is away. */
  readonly clocksInOutages?: true;
}

export const ALL_OUTAGES = ['refuses', 'throttles', 'hangs', 'fades'] as const;

const theme = (...kinds: DrawnKind[]): Theme => ({ kinds, outages: ALL_OUTAGES });

const usual = theme(
  ...([
    'kill',
    'kill',
    'drain',
    'drain',
    'pause',
    'pause',
    'pause',
    'setClock',
    'denied',
    'hubDead',
    'hubWiped',
  ] as const),
  ...(['appGone', 'deploy', 'outage', 'outage', 'pauseJob', 'pauseJob', 'request', 'cancel', 'breakLease'] as const),
);

const twice = (one: Theme): readonly Theme[] => [one, one];

/** Runs that fan out lose instances, or these stand still between two calls. */
const WIDE: Theme = {
  ...theme('kill', 'pause', 'drain', 'cancel'),
  rates: { pauseAfter: 0.03, sleepAfter: 0.01, hidden: 0.03 },
  leaseMs: 15_000,
  wide: true,
};
/** One history in this many has such a theme. */
const WIDE_EVERY = 10;

/** @param pick draws one */
export function themeOf(seed: number, pick: (themes: readonly [Theme, ...Theme[]]) => Theme): Theme {
  return seed % WIDE_EVERY === 2 ? WIDE : pick(THEMES);
}

const THEMES: readonly [Theme, ...Theme[]] = [
  usual,
  usual,
  usual,
  theme('pause', 'pause', 'kill', 'outage'),
  theme('outage', 'outage', 'denied', 'setClock', 'pause'),
  theme('deploy', 'deploy', 'kill', 'pauseJob', 'request'),
  theme('pauseJob', 'request', 'cancel', 'pauseJob', 'kill', 'appGone'),
  { ...theme('breakLease', 'breakLease', 'breakLease', 'pause', 'outage'), longRuns: true },
  theme('hubDead', 'hubDead', 'hubWiped', 'kill'),
  theme('drain', 'drain', 'kill', 'appGone'),
  // Storage gets slow, then does not answer, while handlers are at work.
  { kinds: ['outage', 'outage', 'setClock'], outages: ['fades'], longRuns: true, clocksInOutages: true },
  // Calls of dead and stopped instances arrive when a successor is about to begin, or has begun.
  { ...theme('kill', 'pause'), rates: { lastRecord: 0.3, crashSent: 0.01, late: 0.05 }, longRuns: true },
  ...twice({ ...theme('kill', 'pause'), rates: { lastRecord: 0.4, lastRead: 0.5, late: 0.1 }, leaseMs: 30_000 }),
  ...twice({ ...theme('deploy', 'deploy', 'deploy', 'kill'), changing: true }),
];
