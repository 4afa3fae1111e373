import type { HttpHandler } from '@azure/functions';
import type { Coordinator } from '../coordinator/coordinator';
import { isWell } from '../coordinator/reachability';
import { within } from '../lease/deadline';
import { StoreError } from '../lease/store';

/** How long one answer of storage is good for: this endpoint is open to everybody. */
const FRESH_MS = 30_000;
const ANSWER_WITHIN_MS = 5_000;

/**
 * `GET manage/health`, for availability tests: 200 or 503, and no details, since anybody may ask. An instance on which
 * no tick runs knows nothing of storage, so storage is asked, once in 30 s at most: callers in between get that answer.
 */
export function healthCheck(coordinator: () => Coordinator): HttpHandler {
  let asked: { readonly at: number; readonly answer: Promise<boolean> } | undefined;
  const storageAnswers = (current: Coordinator): Promise<boolean> => {
    const now = current.clock.monotonic();
    if (asked === undefined || now - asked.at > FRESH_MS) asked = { at: now, answer: askStorage(current) };
    return asked.answer;
  };
  return async () => {
    const current = coordinator();
    const answers = await storageAnswers(current);
    const healthy = answers && isWell(current) && !current.stopping;
    return {
      status: healthy ? 200 : 503,
      headers: { 'cache-control': 'no-store' },
      jsonBody: { status: healthy ? 'healthy' : 'unhealthy' },
    };
  };
}

async function askStorage({ clock, store, jobs }: Coordinator): Promise<boolean> {
  const [job] = jobs.keys();
  try {
    await within(clock, ANSWER_WITHIN_MS, async (signal) => {
      // Before the first tick there may be no container yet.
      await store.list(job === undefined ? { signal } : { job, signal }).catch(() => store.prepare({ signal }));
    });
    return true;
  } catch (error) {
    if (error instanceof StoreError) return false;
    throw error;
  }
}
