import type { JobName } from '../core/brand';
import type { StoreError } from '../lease/store';
import type { Coordinator, Report, Trouble } from './coordinator';

const RENEWING = 'renewing ';
/** No tick for so long: the timer fires elsewhere. */
const TICKS_WITHIN_MS = 180_000;

/** What of storage is in trouble, and what is said when it is over. */
const ANSWERS = {
  storage: 'storage answers again',
  writing: 'storage takes writes again',
} as const;

/** Sweeps do not come to the millisecond. */
const SWEEP_SHARE = 0.9;

/** Something is wrong until {@link Health.over}: said once for each reason, and then by {@link sayTroublesAgain}. */
export function troubled(
  { health, clock, serviceTime }: Coordinator,
  what: string,
  trouble: Trouble,
  report: Report,
): void {
  if (!health.trouble(what, trouble, clock.monotonic())) return;
  report.event({ event: 'unhealthy', at: serviceTime.now(), ...trouble });
}

/** Says what is still wrong, once each sweep interval: an alert on the log must not take silence for an end. */
export function sayTroublesAgain({ health, clock, serviceTime, settings }: Coordinator, report: Report): void {
  const troubles = health.sayAgain(clock.monotonic(), settings.sweepIntervalMs * SWEEP_SHARE);
  for (const { reason, job } of troubles) {
    report.event({ event: 'unhealthy', at: serviceTime.now(), reason, ...(job === undefined ? {} : { job }) });
  }
}

/** Storage did not do what was asked. */
export function storageTroubled(
  coordinator: Coordinator,
  what: keyof typeof ANSWERS,
  error: StoreError,
  report: Report,
): void {
  troubled(coordinator, what, { reason: reasonOf(coordinator, error) }, report);
}

export function storageAnswers(coordinator: Coordinator, what: keyof typeof ANSWERS, report: Report): void {
  if (coordinator.health.over(what)) {
    report.event({ event: 'healthy', at: coordinator.serviceTime.now(), reason: ANSWERS[what] });
  }
}

/** A lease could not be renewed, and not for the first time: said once for all leases of this process. */
export function renewalTroubled(coordinator: Coordinator, job: JobName, error: StoreError, report: Report): void {
  const first = !renewingTroubled(coordinator);
  const reason = `leases are not renewed: ${reasonOf(coordinator, error)}`;
  coordinator.health.trouble(RENEWING + job, { reason }, coordinator.clock.monotonic());
  if (first) report.event({ event: 'unhealthy', at: coordinator.serviceTime.now(), reason });
}

export function renewalAnswers(coordinator: Coordinator, job: JobName, report: Report): void {
  if (!coordinator.health.over(RENEWING + job) || renewingTroubled(coordinator)) return;
  report.event({ event: 'healthy', at: coordinator.serviceTime.now(), reason: 'leases are renewed again' });
}

/** The lease is not renewed any more, one way or the other. */
export function renewalEnded({ health }: Coordinator, job: JobName): void {
  health.over(RENEWING + job);
}

/**
 * Whether the instance is well. What its ticks ran into tells nothing any more once they have gone to another instance
 * of the app.
 */
export function isWell(coordinator: Coordinator): boolean {
  const { health, tickedAt, clock } = coordinator;
  const ticks = tickedAt !== undefined && clock.monotonic() - tickedAt < TICKS_WITHIN_MS;
  return ticks ? health.healthy : !renewingTroubled(coordinator);
}

function renewingTroubled({ health }: Coordinator): boolean {
  return [...health.troubles.keys()].some((what) => what.startsWith(RENEWING));
}

function reasonOf({ store }: Coordinator, error: StoreError): string {
  return `storage at ${store.location}: ${error.message}`;
}
