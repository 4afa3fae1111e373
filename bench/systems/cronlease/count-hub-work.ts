import { renameSync, writeFileSync } from 'node:fs';
import { type OrchestrationHandler, app } from 'durable-functions';
import { hubWorkFile } from './hub-work';

const WRITE_EVERY_MS = 500;

/**
 * Counts what the task hub of this worker does, in a file beside the records. To be called before an orchestrator is
 * registered.
 */
export function countHubWork(records: string): void {
  const count = { orchestrations: 0, activities: 0, turns: 0 };
  const { orchestration, activity } = app;
  Object.assign(app, {
    orchestration: ((name, handler) =>
      orchestration(name, function* (context) {
        count.turns += 1;
        if (!context.df.isReplaying) count.orchestrations += 1;
        return yield* (handler as OrchestrationHandler)(context);
      })) satisfies typeof orchestration,
    activity: ((name, options) =>
      activity(name, {
        ...options,
        handler: (...given) => {
          count.activities += 1;
          return options.handler(...given) as unknown;
        },
      })) satisfies typeof activity,
  });
  const file = hubWorkFile(records, process.pid);
  setInterval(() => {
    writeFileSync(`${file}.new`, JSON.stringify(count));
    renameSync(`${file}.new`, file);
  }, WRITE_EVERY_MS).unref();
}
