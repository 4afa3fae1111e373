import { app } from '@azure/functions';
import { type DurableClient, type DurableOrchestrationStatus, OrchestrationRuntimeStatus } from 'durable-functions';
import type { AppOrchestrations, Hub } from '../coordinator/hub';
import type { OrchestrationInput } from '../coordinator/message';
import type { Millis } from '../core/brand';
import { given } from '../core/given';
import { inParallel } from '../core/in-parallel';
import { failedOrchestration, parseInstanceId, progressOf } from '../core/orchestration';
import { BATCH, CONTINUED, ITEMS, RUN } from './orchestrator';
import { systemClock } from '../system-clock';

const OWN = [RUN, CONTINUED, BATCH, ITEMS];

const { Completed, Failed, Terminated, Canceled } = OrchestrationRuntimeStatus;
const FINISHED = [Completed, Failed, Terminated];
const FAILED: readonly OrchestrationRuntimeStatus[] = [Failed, Terminated, Canceled];

/**
 * Inputs may be large, and then lie in blobs, which a listing would read one by one. The extension has this parameter,
 * and the client passes it on, but its types lack it. As `false` it would be left out.
 *
 * @see https://github.com/Azure/azure-functions-durable-extension `OrchestrationStatusQueryCondition.ShowInput`
 */
const NO_INPUTS: object = { showInput: 'false' };

/** By the kind of the input. */
const ORCHESTRATORS: Readonly<Partial<Record<OrchestrationInput['kind'], string>>> = {
  batch: BATCH,
  continued: CONTINUED,
};

/** The state of an orchestration. Undefined: the hub has none of this id. */
async function statusOf(client: DurableClient, id: string): Promise<DurableOrchestrationStatus | undefined> {
  try {
    return await client.getStatus(id);
  } catch (error) {
    // Its status is only in its first sentence. Those after it may have another one, such as that of the hub's storage.
    if (error instanceof Error && /^[^.]*\b404\b/.test(error.message)) return undefined;
    throw error;
  }
}

/** This app's task hub, for ticks and attempts. Default: the app has every function. */
export function durableHub(client: DurableClient, hasFunction: (name: string) => boolean = () => true): Hub {
  return {
    name: client.taskHubName,
    async start(id, input) {
      try {
        await client.startNew(ORCHESTRATORS[input.kind] ?? RUN, { instanceId: id, input });
      } catch (error) {
        // After a lost answer, the first start may have succeeded. A repeat is then no error.
        if ((await statusOf(client, id)) === undefined) throw error;
      }
    },
    async status(id) {
      const found = await statusOf(client, id);
      if (found === undefined) return 'unknown';
      if (found.runtimeStatus === Completed) return 'completed';
      return FAILED.includes(found.runtimeStatus) ? 'failed' : 'pending';
    },
    orchestrations: appOrchestrations(client, hasFunction),
    async purge({ from, to }) {
      const span = { createdTimeFrom: from, createdTimeTo: to };
      const found = await client.getStatusBy({ ...span, ...NO_INPUTS });
      // Those of jobs too, by their ids.
      const own = found.filter(
        ({ name, instanceId }) => OWN.includes(name) || parseInstanceId(instanceId) !== undefined,
      );
      const ended = own.filter(({ runtimeStatus }) => FINISHED.includes(runtimeStatus));
      // One call deletes all of a span, whatever their names: the app may have orchestrations too, and need them.
      if (own.length < found.length)
        await inParallel(ended, ({ instanceId }) => client.purgeInstanceHistory(instanceId));
      else if (ended.length > 0) await client.purgeInstanceHistoryBy({ ...span, runtimeStatus: FINISHED });
      return found.length;
    },
  };
}

/** The status after `continueAsNew` lasts until the next episode, which a busy hub begins later. */
const GOES_ON = [
  OrchestrationRuntimeStatus.Pending,
  OrchestrationRuntimeStatus.Running,
  OrchestrationRuntimeStatus.ContinuedAsNew,
  OrchestrationRuntimeStatus.Suspended,
];

/** The sweeps of all storage accounts come together, and share one listing. */
const LISTED_FOR_MS: Millis = 2_000;

async function listRunning(client: DurableClient): ReturnType<AppOrchestrations['running']> {
  const listed = await client.getStatusBy({ runtimeStatus: GOES_ON, ...NO_INPUTS });
  return listed.map(({ instanceId, customStatus }) => ({
    id: instanceId,
    ...given({ progress: progressOf(customStatus) }),
  }));
}

function appOrchestrations(client: DurableClient, hasFunction: (name: string) => boolean): AppOrchestrations {
  let last: { readonly at: Millis; readonly listed: ReturnType<AppOrchestrations['running']> } | undefined;
  return {
    knows: async (orchestrator) => hasFunction(orchestrator),
    running() {
      const now = systemClock.monotonic();
      if (last === undefined || now - last.at > LISTED_FOR_MS) {
        const listed = listRunning(client);
        last = { at: now, listed };
        listed.catch(() => {
          last = undefined;
        });
      }
      return last.listed;
    },
    async end(id) {
      const found = await statusOf(client, id);
      if (found === undefined) return undefined;
      const { runtimeStatus, output } = found;
      if (runtimeStatus === Completed) {
        return { state: 'succeeded', result: JSON.stringify(output ?? null) };
      }
      if (!FAILED.includes(runtimeStatus)) return 'running';
      return failedOrchestration(`${runtimeStatus}: ${typeof output === 'string' ? output : JSON.stringify(output)}`);
    },
    raise: (id, event, data) => unlessGone(client.raiseEvent(id, event, data)),
    terminate: (id, reason) => unlessGone(client.terminate(id, encodeURIComponent(reason))),
  };
}

/** It may have ended, and its history may have been purged, meanwhile. */
async function unlessGone(call: Promise<void>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('No instance with ID'))) throw error;
  }
}

/** What is used here of the module that only a Functions worker has. */
interface WorkerModule {
  registerFunction(metadata: object, callback: () => undefined): { dispose(): unknown };
}

/**
 * Finds out which of these functions the app has, as soon as all of its code is loaded: the worker takes no name twice.
 * The task hub cannot be asked. Since version 3.1, Durable looks for an orchestrator only when it carries one out, so a
 * start to find out would run it, even one with an id that is not allowed.
 *
 * @see https://github.com/Azure/azure-functions-nodejs-worker `registerFunction`, and
 *   https://github.com/Azure/azure-functions-durable-extension `HttpApiHandler.HandleStartOrchestratorRequestAsync`
 * @returns whether the app has a function of that name. Until the code is loaded, all of them count as there
 */
export function appFunctions(names: readonly string[]): (name: string) => boolean {
  let missing: readonly string[] = [];
  app.hook.appStart(() => {
    missing = names.filter((name) => !isTaken(name));
  });
  return (name) => !missing.includes(name);
}

function isTaken(name: string): boolean {
  try {
    const worker = require('@azure/functions-core') as WorkerModule;
    worker.registerFunction({ name, bindings: {} }, () => undefined).dispose();
    return false;
  } catch {
    // "A function with id "…" has already been registered."
    return true;
  }
}
