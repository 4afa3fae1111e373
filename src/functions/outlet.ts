import type { ConfigIssue } from '../config/config-error';
import type { Outlet } from '../coordinator/outlet';
import type { Clock } from '../core/clock';
import type { JobSpec } from '../core/job';
import type { ServiceTime } from '../lease/service-time';
import type { LeaseStore } from '../lease/store';
import { createPings } from '../notices/ping';
import { post } from '../notices/post';
import { createSender } from '../notices/sender';
import type { Call } from '../notices/try';
import type { NoticeSettings } from './notice-settings';

/** The sender of this process; undefined if its settings name no receiver and no ping. */
export function createOutlet(
  { receivers, pings, guard, publicAddress }: NoticeSettings,
  process: {
    readonly store: LeaseStore;
    readonly clock: Clock;
    readonly time: Pick<ServiceTime, 'now'>;
    readonly instance: string;
    readonly deployment: string;
    readonly environment: string | undefined;
  },
): Outlet | undefined {
  if (receivers.size === 0 && pings.size === 0) return undefined;
  const { store, clock, time, instance, deployment, environment } = process;
  const now = (): number => time.now();
  const call: Call = (posting) => post(posting, { guard, clock });
  const origin = { source: store.location, deployment, environment, publicAddress };
  return {
    ...createSender({ store, clock, now, instance, receivers, origin, call }),
    ping: createPings(clock, pings, call),
  };
}

/**
 * Names in the jobs file that the settings of this app lack. Another deployment may have them.
 *
 * @param unresolved settings that could not be read, so that nothing is known of their names
 */
export function unknownNames(
  specs: readonly JobSpec[],
  { receivers, pings }: NoticeSettings,
  unresolved: ReadonlyMap<string, string>,
): readonly ConfigIssue[] {
  const issue = (path: string, value: string, setting: string): ConfigIssue => ({
    path,
    value,
    message: `has no address in the app setting ${setting} of this app`,
    remedy: 'add it there, or correct the name',
  });
  return specs.flatMap(({ name, notify, ping }) => [
    ...(notify?.to ?? [])
      .filter((receiver) => !receivers.has(receiver) && !unresolved.has('CRONLEASE_RECEIVERS'))
      .map((receiver) => issue(`jobs.${name}.notify.to`, receiver, 'CRONLEASE_RECEIVERS')),
    ...(ping === undefined || pings.has(ping) || unresolved.has('CRONLEASE_PINGS')
      ? []
      : [issue(`jobs.${name}.ping`, ping, 'CRONLEASE_PINGS')]),
  ]);
}
