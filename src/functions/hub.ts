import { type DurableClient, OrchestrationRuntimeStatus } from 'durable-functions';
import type { Hub } from '../coordinator/hub';
import type { OrchestrationInput } from '../coordinator/message';
import { inParallel } from '../core/in-parallel';
import { BATCH, CONTINUED, ITEMS, RUN } from './orchestrator';

const OWN = [RUN, CONTINUED, BATCH, ITEMS];

const FINISHED = [
  OrchestrationRuntimeStatus.Completed,
  OrchestrationRuntimeStatus.Failed,
  OrchestrationRuntimeStatus.Terminated,
];

/** By the kind of the input. */
const ORCHESTRATORS: Readonly<Partial<Record<OrchestrationInput['kind'], string>>> = {
  batch: BATCH,
  continued: CONTINUED,
};

/** This app's task hub, for ticks and attempts. */
export function durableHub(client: DurableClient): Hub {
  const runtimeStatus = async (id: string): Promise<OrchestrationRuntimeStatus | undefined> => {
    try {
      return (await client.getStatus(id)).runtimeStatus;
    } catch (error) {
      // The client reports "not found" by an error that has the status only in its text.
      if (error instanceof Error && /\b404\b/.test(error.message)) return undefined;
      throw error;
    }
  };
  return {
    name: client.taskHubName,
    async start(id, input) {
      try {
        await client.startNew(ORCHESTRATORS[input.kind] ?? RUN, { instanceId: id, input });
      } catch (error) {
        // After a lost answer, the first start may have succeeded. A repeat is then no error.
        if ((await runtimeStatus(id)) === undefined) throw error;
      }
    },
    async status(id) {
      const status = await runtimeStatus(id);
      switch (status) {
        case OrchestrationRuntimeStatus.Completed:
          return 'completed';
        case OrchestrationRuntimeStatus.Failed:
        case OrchestrationRuntimeStatus.Terminated:
        case OrchestrationRuntimeStatus.Canceled:
          return 'failed';
        case undefined:
          return 'unknown';
        default:
          return 'pending';
      }
    },
    async purge({ from, to }) {
      const span = { createdTimeFrom: from, createdTimeTo: to };
      const found = await client.getStatusBy(span);
      const own = found.filter(({ name }) => OWN.includes(name));
      const ended = own.filter(({ runtimeStatus }) => FINISHED.includes(runtimeStatus));
      // One call deletes all of a span, whatever their names: the app may have orchestrations too, and need them.
      if (own.length < found.length)
        await inParallel(ended, ({ instanceId }) => client.purgeInstanceHistory(instanceId));
      else if (ended.length > 0) await client.purgeInstanceHistoryBy({ ...span, runtimeStatus: FINISHED });
      return found.length;
    },
  };
}
