import type { JobName, Token } from '../core/brand';
import { runIdOf } from '../core/key';
import { FENCE_TRUSTS_MS, type OrchestrationRun } from '../core/orchestration';
import { decodeRow } from '../core/row';
import { CALL_LIMIT_MS, within } from '../lease/deadline';
import { type OrchestrationFence, StaleLeaderError, createFence } from '../lease/fence';
import { moment, Trust } from '../lease/trust';
import { type Coordinator, keptFromHandlers } from './coordinator';

/** What this process knows of one orchestration: the activities of a process share it. */
interface Known {
  trust: Trust | undefined;
  reading: Promise<void> | undefined;
}

/** A process works on few orchestrations at once. */
const KNOWN_AT_MOST = 1_000;

const knownOf = new WeakMap<Coordinator, Map<string, Known>>();

type ServeFence = (run: OrchestrationRun) => OrchestrationFence;

let serving: ServeFence | undefined;

/**
 * From now on, the activities of this process get their fences from here.
 *
 * @returns what served them before
 */
export function serveFences(serve: ServeFence | undefined): ServeFence | undefined {
  const before = serving;
  serving = serve;
  return before;
}

/** Undefined: nothing serves fences. */
export function servedFence(run: OrchestrationRun): OrchestrationFence | undefined {
  return serving?.(run);
}

/** The fence of an orchestration in this process. Decision 133. */
export function activityFence(
  coordinator: Coordinator,
  run: OrchestrationRun,
): OrchestrationFence & { readonly trusts: boolean } {
  const known = entryOf(coordinator, `${run.runId} ${String(run.token)}`);
  const trust = {
    get holds() {
      return known.trust?.holds === true;
    },
  };
  const fence = createFence(run.job, run.token as Token, trust, keptFromHandlers(coordinator));
  const check = async (): Promise<void> => {
    if (trust.holds) return;
    known.reading ??= read(coordinator, run, known).finally(() => {
      known.reading = undefined;
    });
    await known.reading;
  };
  return {
    token: run.token,
    get trusts() {
      return trust.holds;
    },
    check,
    async write(...how) {
      await check();
      await fence.write(...how);
    },
  };
}

async function read({ clock, store }: Coordinator, run: OrchestrationRun, known: Known): Promise<void> {
  const name = run.job as JobName;
  // The claim that continues the run without it comes after this instant, if the row does not show it yet.
  const sent = moment(clock);
  const listed = await within(clock, CALL_LIMIT_MS, (signal) => store.readRow(name, { signal }));
  const row = listed === undefined ? undefined : decodeRow(listed.metadata);
  const waits =
    row?.phase === 'fanning' &&
    row.token === run.token &&
    row.run !== undefined &&
    runIdOf(name, row.run.key) === run.runId;
  if (!waits) {
    throw new StaleLeaderError(
      `run ${run.runId} has continued without the orchestration of token ${String(run.token)}, so nothing was written`,
    );
  }
  known.trust = Trust.withoutLease(clock, sent, FENCE_TRUSTS_MS);
}

function entryOf(coordinator: Coordinator, id: string): Known {
  const all = knownOf.get(coordinator) ?? new Map<string, Known>();
  knownOf.set(coordinator, all);
  const entry = all.get(id) ?? { trust: undefined, reading: undefined };
  // The one that was used last comes last.
  all.delete(id);
  all.set(id, entry);
  for (const other of all.keys()) {
    if (all.size <= KNOWN_AT_MOST) break;
    all.delete(other);
  }
  return entry;
}
