import type { ETag, Millis } from '../../core/brand';
import { ABILITIES, decodePresence, encodePresence, jobsHash, PRESENCE_EVERY_MS } from '../../core/presence';
import type { Presence, Rival } from '../../core/presence';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import type { Coordinator, Hub, PresenceFacts, Report } from '../coordinator';
import { storageAnswers } from '../reachability';

/** The wait after a write that failed. */
const AGAIN_MS = 60_000;
/** After this long without a tick, another process may rightly have written for the deployment. */
const STANDS_STILL_MS = 60_000;

/**
 * Writes this deployment's presence for `cronlease doctor`: once with the first tick and then every five minutes, with
 * two more calls if another process has written it meanwhile. No tick waits for it, and a failure causes one warning. A
 * wrong clock is logged as often.
 */
export function announcer(coordinator: Coordinator): (hub: Hub, report: Report, hubProven: boolean) => void {
  const { clock, presence: facts } = coordinator;
  if (facts === undefined) return () => undefined;
  const jobs = jobsHash([...coordinator.jobs.values()].map(({ spec }) => spec));
  let writeAt = 0;
  let tickedAt: Millis | undefined;
  /** The ETag of this process's own last write, if it has ticked ever since. */
  let etag: ETag | undefined;
  let warned = false;

  return (hub, report, hubProven) => {
    const now = clock.monotonic();
    if (tickedAt !== undefined && now - tickedAt > STANDS_STILL_MS) etag = undefined;
    tickedAt = now;
    if (now < writeAt) return;
    writeAt = now + PRESENCE_EVERY_MS;
    const { serviceTime } = coordinator;
    if (serviceTime.skewMs !== 0) {
      report.event({ event: 'clockSkew', at: serviceTime.now(), skewMs: serviceTime.skewMs });
    }
    const presence: Presence = { ...presenceOf(coordinator, facts, hub), jobs, hubProven };
    write(coordinator, presence, etag).then(
      (written) => {
        etag = written;
        warned = false;
        // The next claim would show this too, but for a daily job it may be a day away.
        if (written !== undefined) storageAnswers(coordinator, 'writing', report);
      },
      (error: unknown) => {
        etag = undefined;
        writeAt = clock.monotonic() + AGAIN_MS;
        if (warned) return;
        warned = true;
        const reason = `this deployment could not write its presence: ${String(error)}`;
        report.event({ event: 'warning', at: coordinator.serviceTime.now(), reason });
      },
    );
  };
}

function presenceOf(coordinator: Coordinator, facts: PresenceFacts, hub: Hub): Omit<Presence, 'jobs' | 'hubProven'> {
  const { serviceTime, revision } = coordinator;
  const { instance, version, hubAccount } = facts;
  return {
    instance,
    // Names of task hubs are not case-sensitive.
    hub: hub.name === undefined || hubAccount === undefined ? undefined : `${hub.name.toLowerCase()} in ${hubAccount}`,
    version,
    revision,
    abilities: ABILITIES,
    tickedAt: serviceTime.now(),
    skewMs: serviceTime.skewMs,
    rival: undefined,
  };
}

async function write(
  coordinator: Coordinator,
  presence: Presence,
  ifMatch: ETag | undefined,
): Promise<ETag | undefined> {
  const { clock, store, deployment } = coordinator;
  const put = (what: Presence, condition: ETag | undefined): ReturnType<typeof store.writePresence> =>
    within(clock, CALL_LIMIT_MS, (signal) =>
      store.writePresence(deployment, encodePresence(what), condition, { signal }),
    );
  const own = await put(presence, ifMatch);
  if (own.kind === 'written') return own.etag;
  const { presences } = await within(clock, CALL_LIMIT_MS, (signal) => store.listPresences({ signal }));
  const other = presences.get(deployment);
  const rival = other === undefined ? undefined : rivalIn(other.metadata, presence.instance);
  const told = await put({ ...presence, rival }, undefined);
  return told.kind === 'written' ? told.etag : undefined;
}

/** The last writer, if that was another process. If not, only the answer to our own write was lost. */
function rivalIn(metadata: Readonly<Record<string, string>>, instance: string): Rival | undefined {
  const other = decodePresence(metadata);
  return other.instance === instance ? undefined : { instance: other.instance, hub: other.hub };
}
