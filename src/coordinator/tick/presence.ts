import type { ETag, Millis } from '../../core/brand';
import { given } from '../../core/given';
import { decodePresence, encodePresence, jobsHash, type Presence } from '../../core/presence';
import { PRESENCE_EVERY_MS } from '../../core/presence-state';
import { CALL_LIMIT_MS, within } from '../../lease/deadline';
import type { Coordinator, Hub, PresenceFacts, Report } from '../coordinator';
import { storageAnswers } from '../reachability';

/** The wait after a write that failed. One failure must not make the deployment look silent. */
const AGAIN_FIRST_MS = 15_000;
const AGAIN_MS = PRESENCE_EVERY_MS;
/** A wrong clock is logged this often. */
const SKEW_EVERY_MS = 5 * 60_000;
/** After this long without a tick, another process may rightly have written for the deployment. */
const STANDS_STILL_MS = 60_000;

/** A deployment whose timer ticks has written its presence within this time. */
const SILENT_MS = PRESENCE_EVERY_MS + 60_000;

/** What a tick knows beside its hub. */
interface Announced {
  readonly hubProven: boolean;
  /** Whether something other than the timer started the tick. */
  readonly isPoke: boolean;
}

/**
 * Writes this deployment's presence for `cronlease doctor`: once with the first tick and then every minute, with
 * two more calls if another process has written it meanwhile. No tick waits for it, and a failure causes one warning. A
 * wrong clock is logged every five minutes.
 *
 * A poke may come to another process of the app than the timer's fires do. It writes only if the deployment has been
 * silent, because the timer's process would otherwise take it for a second app of the same name.
 */
export function announcer(coordinator: Coordinator): (hub: Hub, report: Report, announced: Announced) => void {
  const { clock, presence: facts } = coordinator;
  if (facts === undefined) return () => undefined;
  const jobs = jobsHash([...coordinator.jobs.values()].map(({ spec }) => spec));
  let writeAt = 0;
  /** The timer's first tick here does not wait for what a poke has left alone. */
  let pokedAgainAt = 0;
  let tickedAt: Millis | undefined;
  /** The ETag of this process's own last write, if it has ticked ever since. */
  let etag: ETag | undefined;
  let warned = false;
  let skewAt = 0;

  return (hub, report, { hubProven, isPoke }) => {
    const now = clock.monotonic();
    const stands = tickedAt === undefined || now - tickedAt > STANDS_STILL_MS;
    if (isPoke && !stands) return;
    if (stands) etag = undefined;
    if (!isPoke) tickedAt = now;
    if (now < (isPoke ? pokedAgainAt : writeAt)) return;
    if (isPoke) pokedAgainAt = now + PRESENCE_EVERY_MS;
    else writeAt = now + PRESENCE_EVERY_MS;
    const { serviceTime } = coordinator;
    if (serviceTime.skewMs !== 0 && now >= skewAt) {
      skewAt = now + SKEW_EVERY_MS;
      report.event({ event: 'clockSkew', at: serviceTime.now(), skewMs: serviceTime.skewMs });
    }
    const presence: Presence = { ...presenceOf(coordinator, facts, hub), jobs, hubProven };
    const writing = isPoke ? writeIfSilent(coordinator, presence) : write(coordinator, presence, etag);
    writing.then(
      (written) => {
        etag = written;
        warned = false;
        // The next claim would show this too, but for a daily job it may be a day away.
        if (written !== undefined) storageAnswers(coordinator, 'writing', report);
      },
      (error: unknown) => {
        etag = undefined;
        const againAt = clock.monotonic() + (warned ? AGAIN_MS : AGAIN_FIRST_MS);
        if (isPoke) pokedAgainAt = againAt;
        else writeAt = againAt;
        if (warned) return;
        warned = true;
        const reason = `this deployment could not write its presence: ${String(error)}`;
        report.event({ event: 'warning', at: coordinator.serviceTime.now(), reason });
      },
    );
  };
}

function presenceOf(coordinator: Coordinator, facts: PresenceFacts, hub: Hub): Omit<Presence, 'jobs' | 'hubProven'> {
  const { serviceTime, revision, load, clock } = coordinator;
  const { instance, version, hubAccount, tickEveryMs } = facts;
  return {
    instance,
    // Names of task hubs are not case-sensitive.
    hub: hub.name === undefined || hubAccount === undefined ? undefined : `${hub.name.toLowerCase()} in ${hubAccount}`,
    version,
    revision,
    ...(coordinator.place !== undefined && { accounts: coordinator.place.accounts.length }),
    tickedAt: serviceTime.now(),
    tickEveryMs,
    skewMs: serviceTime.skewMs,
    ...given({ shortOf: load.shortOf(clock.monotonic()) }),
    rival: undefined,
  };
}

/** For a poke: leaves the presence as it is if the deployment's timer has written it recently. */
async function writeIfSilent(coordinator: Coordinator, presence: Presence): Promise<undefined> {
  const last = await readOwn(coordinator);
  if (last === undefined || presence.tickedAt - last.tickedAt >= SILENT_MS) {
    await write(coordinator, presence, undefined);
  }
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
  const other = await readOwn(coordinator);
  // If it is the same, only the answer to our own write was lost.
  const isRival = other !== undefined && other.instance !== presence.instance;
  const rival = isRival ? { instance: other.instance, hub: other.hub } : undefined;
  const told = await put({ ...presence, rival }, undefined);
  return told.kind === 'written' ? told.etag : undefined;
}

/** The presence of this deployment, whichever process wrote it. */
async function readOwn({ clock, store, deployment }: Coordinator): Promise<Presence | undefined> {
  const { presences } = await within(clock, CALL_LIMIT_MS, (signal) => store.listPresences({ signal }));
  const listed = presences.get(deployment);
  return listed && decodePresence(listed.metadata);
}
