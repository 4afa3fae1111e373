import type { ETag, Millis } from '../../core/brand';
import { decodePresence, encodePresence, jobsHash, PRESENCE_EVERY_MS } from '../../core/presence';
import type { Presence, Rival } from '../../core/presence';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import type { Coordinator, Hub, PresenceFacts, Report } from '../coordinator';
import { storageAnswers } from '../reachability';

/** What could not be written is tried again after this long. */
const AGAIN_MS = 60_000;
/** A process that has not ticked for this long may have been stood in for, by right. */
const STANDS_STILL_MS = 60_000;

/**
 * Says in storage that this deployment is there, for `cronlease doctor`: one write with the first tick and one every
 * five minutes, and two calls more where another process has spoken for the deployment meanwhile. No tick waits for it,
 * and nothing but a warning, once, comes of its failing. As often the log is told of a clock that is wrong.
 */
export function announcer(coordinator: Coordinator): (hub: Hub, report: Report) => void {
  const { clock, presence: facts } = coordinator;
  if (facts === undefined) return () => undefined;
  const jobs = jobsHash([...coordinator.jobs.values()].map(({ spec }) => spec));
  let writeAt = 0;
  let tickedAt: Millis | undefined;
  /** Of this process's own last write, while it has ticked ever since. */
  let etag: ETag | undefined;
  let warned = false;

  return (hub, report) => {
    const now = clock.monotonic();
    if (tickedAt !== undefined && now - tickedAt > STANDS_STILL_MS) etag = undefined;
    tickedAt = now;
    if (now < writeAt) return;
    writeAt = now + PRESENCE_EVERY_MS;
    const { serviceTime } = coordinator;
    if (serviceTime.skewMs !== 0) {
      report.event({ event: 'clockSkew', at: serviceTime.now(), skewMs: serviceTime.skewMs });
    }
    const presence: Presence = { ...presenceOf(coordinator, facts, hub), jobs };
    write(coordinator, presence, etag).then(
      (written) => {
        etag = written;
        warned = false;
        // The next claim of a daily job, which would tell as well, may be a day away.
        if (written !== undefined) storageAnswers(coordinator, 'writing', report);
      },
      (error: unknown) => {
        etag = undefined;
        writeAt = clock.monotonic() + AGAIN_MS;
        if (warned) return;
        warned = true;
        const reason = `this deployment could not say that it is there: ${String(error)}`;
        report.event({ event: 'warning', at: coordinator.serviceTime.now(), reason });
      },
    );
  };
}

function presenceOf(coordinator: Coordinator, facts: PresenceFacts, hub: Hub): Omit<Presence, 'jobs'> {
  const { serviceTime, revision } = coordinator;
  const { instance, version, hubAccount } = facts;
  return {
    instance,
    // Task hubs are called the same in whatever case.
    hub: hub.name === undefined || hubAccount === undefined ? undefined : `${hub.name.toLowerCase()} in ${hubAccount}`,
    version,
    revision,
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

/** Whoever wrote last, if that was another process. It may be that only the answer to our own write was lost. */
function rivalIn(metadata: Readonly<Record<string, string>>, instance: string): Rival | undefined {
  const other = decodePresence(metadata);
  return other.instance === instance ? undefined : { instance: other.instance, hub: other.hub };
}
