import type { JobName, Millis } from '../core/brand';
import { given } from '../core/given';
import type { StoreError } from '../lease/store';
import type { Coordinator, Report } from './coordinator';
import type { Trouble } from './health';

const RENEWING = 'renewing ';
/** After this long without a tick, the timer fires on another instance. */
const TICKS_WITHIN_MS = 180_000;

/** The kinds of trouble with calls that are made all the time, and the message when each is over. */
const ANSWERS = {
  storage: 'storage answers again',
  writing: 'storage takes writes again',
} as const;

type Kind = keyof typeof ANSWERS;

/** Sweeps are not exact to the millisecond. */
const SWEEP_SHARE = 0.9;

/**
 * Reports a trouble once for each reason. It lasts until {@link Health.over}: {@link sayTroublesAgain} repeats it.
 * Decision 038.
 */
export function troubled(
  { health, clock, serviceTime }: Pick<Coordinator, 'health' | 'clock' | 'serviceTime'>,
  what: string,
  trouble: Trouble,
  report: Report,
): void {
  if (!health.trouble(what, trouble, clock.monotonic())) return;
  report.event({ event: 'unhealthy', at: serviceTime.now(), ...trouble });
}

/** Repeats each lasting trouble once a sweep interval: an alert on the log would take silence for its end. */
export function sayTroublesAgain(coordinator: Coordinator, report: Report): void {
  sayEnds(coordinator, report);
  const { health, clock, serviceTime, settings } = coordinator;
  const troubles = health.sayAgain(clock.monotonic(), settings.sweepIntervalMs * SWEEP_SHARE);
  for (const { reason, job } of troubles) {
    report.event({ event: 'unhealthy', at: serviceTime.now(), reason, ...given({ job }) });
  }
}

export function storageTroubled(
  coordinator: Coordinator,
  what: Kind | 'retention',
  error: StoreError,
  report: Report,
): void {
  troubled(coordinator, what, { reason: reasonOf(coordinator, error) }, report);
}

export function storageAnswers(coordinator: Coordinator, what: Kind, report: Report): void {
  coordinator.health.answered(what, coordinator.clock.monotonic());
  sayEnds(coordinator, report);
}

/** Reports the ends of troubles with calls, once successes have lasted: half of all calls may fail for hours. */
function sayEnds({ health, clock, serviceTime }: Coordinator, report: Report): void {
  const ended = health.settle(clock.monotonic());
  if (ended.length === 0) return;
  const of = (what: string): string | undefined => (Object.hasOwn(ANSWERS, what) ? ANSWERS[what as Kind] : undefined);
  const isRenewing = ended.some((what) => what.startsWith(RENEWING)) && !health.lasts(RENEWING);
  for (const reason of [...ended.map(of), isRenewing ? 'leases are renewed again' : undefined]) {
    if (reason !== undefined) report.event({ event: 'healthy', at: serviceTime.now(), reason });
  }
}

/** Reports the end of a trouble, if there was one. */
export function troubleOver(
  { health, serviceTime }: Pick<Coordinator, 'health' | 'serviceTime'>,
  what: string,
  reason: string,
  report: Report,
): void {
  if (health.over(what)) report.event({ event: 'healthy', at: serviceTime.now(), reason });
}

/** Reports that a renewal failed again: once for all leases of this process. */
export function renewalTroubled(coordinator: Coordinator, job: JobName, error: StoreError, report: Report): void {
  const first = !coordinator.health.lasts(RENEWING);
  const reason = `leases are not renewed: ${reasonOf(coordinator, error)}`;
  coordinator.health.trouble(RENEWING + job, { reason }, coordinator.clock.monotonic());
  if (first) report.event({ event: 'unhealthy', at: coordinator.serviceTime.now(), reason });
}

export function renewalAnswers(coordinator: Coordinator, job: JobName, report: Report): void {
  renewalEnded(coordinator, job);
  sayEnds(coordinator, report);
}

/** The renewals of this lease have ended, for whatever reason. */
export function renewalEnded({ health, clock }: Coordinator, job: JobName): void {
  health.answered(RENEWING + job, clock.monotonic());
}

/** Notes the first call of a handler for a due time, and reports once that an overload begins, changes or ends. */
export function noteStart(
  {
    load,
    clock,
    serviceTime,
    store,
  }: Pick<Coordinator, 'load' | 'clock' | 'serviceTime'> & {
    readonly store: Pick<Coordinator['store'], 'location'>;
  },
  latenessMs: Millis,
  { event }: Pick<Report, 'event'>,
): void {
  const change = load.started(latenessMs, clock.monotonic());
  if (change === undefined) return;
  const { shortOf, writeMs } = change;
  const at = serviceTime.now();
  if (shortOf === undefined) {
    event({ event: 'onTime', at, reason: 'most runs start on time again' });
    return;
  }
  const reason =
    shortOf === 'cpu'
      ? 'most runs start late, because this process has no CPU time left'
      : `most runs start late, because a write to storage at ${store.location} takes ${String(Math.round(writeMs))} ms`;
  event({ event: 'overloaded', at, latenessMs: change.latenessMs, reason });
}

/**
 * Whether the instance is well. Once the timer fires on another instance of the app, the troubles of the ticks here are
 * out of date and do not count.
 */
export function isWell(coordinator: Coordinator): boolean {
  return ticksHere(coordinator)
    ? coordinator.health.healthy
    : ![...coordinator.health.troubles.keys()].some((what) => what.startsWith(RENEWING));
}

export function ticksHere({ tickedAt, clock }: Pick<Coordinator, 'tickedAt' | 'clock'>): boolean {
  return tickedAt !== undefined && clock.monotonic() - tickedAt < TICKS_WITHIN_MS;
}

function reasonOf({ store }: Coordinator, error: StoreError): string {
  return `storage at ${store.location}: ${error.message}`;
}
