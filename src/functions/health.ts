import type { HttpHandler } from '@azure/functions';
import type { Clock } from '../core/clock';
import type { Millis } from '../core/brand';
import type { Coordinator } from '../coordinator/coordinator';
import { isWell, ticksHere } from '../coordinator/reachability';
import { decodePresence } from '../core/presence';
import { presenceState } from '../core/presence-state';
import { ifReadable } from '../core/metadata';
import { within } from '../lease/deadline';
import { StoreError } from '../lease/store';
import type { Environment } from './app-settings';
import { hasWebhooks } from './host-advice';

/** How long an answer of storage is reused. The endpoint is public, so callers must not cause a call each. */
const FRESH_MS = 30_000;
const ANSWER_WITHIN_MS = 5_000;
const LINE_EACH_MS = 60_000;
/** A deployment that has just been started, or moved to this instance, has this long for its first tick. */
const FIRST_TICK_WITHIN_MS = 120_000;

/**
 * Whether this instance can do its work, in each storage account. An instance on which no tick runs has no news of
 * storage, so this asks storage, at most once in 30 s: whether it answers, and whether another instance of the app has
 * reported a tick. Callers in between get the same answer. Without an address for Durable no tick of this app can run.
 * Decision 039.
 */
export function readiness(coordinators: () => readonly Coordinator[], env: Environment): () => Promise<boolean> {
  /** The last question to each account's storage, with the time of the first one. */
  const asked = new Map<Coordinator, { at: Millis; since: Millis; answer: Promise<boolean> }>();
  const storageAnswers = (current: Coordinator): Promise<boolean> => {
    const now = current.clock.monotonic();
    const last = asked.get(current);
    if (last !== undefined && now - last.at <= FRESH_MS) return last.answer;
    const since = last?.since ?? now;
    const answer = askStorage(current, now - since >= FIRST_TICK_WITHIN_MS);
    asked.set(current, { at: now, since, answer });
    return answer;
  };
  return async () => {
    const all = coordinators();
    const answers = await Promise.all(all.map(storageAnswers));
    return (
      hasWebhooks(env) && all.every((current, index) => answers[index] === true && isWell(current) && !current.stopping)
    );
  };
}

/**
 * `GET manage/health`, for availability tests. It answers 200 or 503 without details, because the endpoint is public.
 * It logs a line a minute at most, and host.json has the host log none, so that calls of it cannot fill the logs.
 */
export function healthCheck(isReady: () => Promise<boolean>, clock: Pick<Clock, 'monotonic'>): HttpHandler {
  let calls = 0;
  let toldAt: Millis = -Infinity;
  return async (_request, context) => {
    const healthy = await isReady();
    calls += 1;
    const now = clock.monotonic();
    if (now - toldAt >= LINE_EACH_MS) {
      context.log(`health: ${healthy ? 'healthy' : 'unhealthy'}, calls since the line before: ${calls}`);
      calls = 0;
      toldAt = now;
    }
    return {
      status: healthy ? 200 : 503,
      headers: { 'cache-control': 'no-store' },
      jsonBody: { status: healthy ? 'healthy' : 'unhealthy' },
    };
  };
}

async function askStorage(coordinator: Coordinator, mustTick: boolean): Promise<boolean> {
  const { clock, store, jobs } = coordinator;
  const [job] = jobs.keys();
  try {
    await within(clock, ANSWER_WITHIN_MS, async (signal) => {
      // Before the first tick the container may not exist yet.
      await store.list(job === undefined ? { signal } : { job, signal }).catch(() => store.prepare({ signal }));
    });
    return !mustTick || ticksHere(coordinator) || !(await isSilent(coordinator));
  } catch (error) {
    if (error instanceof StoreError) return false;
    throw error;
  }
}

/** Whether no instance of this app has reported a tick of late. */
async function isSilent({ clock, store, deployment, presence }: Coordinator): Promise<boolean> {
  if (presence === undefined) return false;
  const listed = await within(clock, ANSWER_WITHIN_MS, (signal) => store.listPresences({ signal }));
  const found = listed.presences.get(deployment);
  if (found === undefined) return true;
  // If something else wrote it, the next report overwrites it.
  return ifReadable(() => presenceState(decodePresence(found.metadata), listed.date) === 'silent') ?? false;
}
