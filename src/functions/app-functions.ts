import { app } from '@azure/functions';

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
