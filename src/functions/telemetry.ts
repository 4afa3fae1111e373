import type { Coordinator } from '../coordinator/coordinator';
import type { JobName } from '../core/brand';
import type { ListedJob, Listing } from '../lease/store';
import { type Feed, createFeed } from '../telemetry/feed';
import { telemetryPlan } from '../telemetry/settings';
import { systemClock } from '../system-clock';
import { VERSION } from '../version';
import type { Environment } from './app-settings';
import type { Coordinators } from './coordinators';

/** Undefined where the settings ask for no export: then nothing of it is loaded, and nothing is done. */
export function openTelemetry(env: Environment): Feed | undefined {
  const plan = telemetryPlan(env);
  return plan === undefined ? undefined : createFeed(plan, systemClock);
}

/** Loads the SDK, and connects it to the coordinators. Until then, and if that fails, the app works without it. */
export async function connectTelemetry(
  feed: Feed,
  { all, store, jobs }: Coordinators,
  env: Environment,
): Promise<void> {
  const [first] = all;
  if (first === undefined) return;
  const { serviceTime, deployment, presence } = first;
  const telemetry = await feed.load({
    version: VERSION,
    deployment,
    instance: presence?.instance ?? '',
    location: store.location,
    specs: jobs,
    resource: resourceOf(env, first),
    now: () => serviceTime.now(),
    skewMs: () => serviceTime.skewMs,
  });
  if (telemetry === undefined) return;
  const last = new Map<Coordinator, Listing>();
  for (const coordinator of all) {
    // The gauges show the jobs of all accounts, each as its last sweep had them.
    const swept = (listing: Listing): void => {
      last.set(coordinator, listing);
      telemetry.swept(together([...last.values()], listing));
    };
    coordinator.telemetry = all.length === 1 ? telemetry : { ...telemetry, swept };
  }
}

function together(listings: readonly Listing[], { date }: Listing): Listing {
  return { date, jobs: new Map<JobName, ListedJob>(listings.flatMap(({ jobs }) => [...jobs])) };
}

/** Sends what is left. A receiver that does not answer must not make the shutdown fail. */
export async function closeTelemetry(feed: Feed): Promise<void> {
  try {
    await feed.shutdown();
  } catch (error) {
    console.warn(`Warning: the last metrics and traces were not sent: ${String(error)}`);
  }
}

/** The attributes by which receivers tell instances apart, by OpenTelemetry's conventions. */
function resourceOf(env: Environment, { deployment, presence }: Coordinator): Readonly<Record<string, string>> {
  const known = {
    'service.name': env['WEBSITE_SITE_NAME'] ?? 'cronlease',
    'service.instance.id': presence?.instance ?? '',
    'cronlease.deployment': deployment,
    'deployment.environment.name': env['CRONLEASE_ENVIRONMENT'] ?? '',
    'cloud.region': env['REGION_NAME'] ?? '',
  };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value !== ''));
}
