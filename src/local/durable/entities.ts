import type { TypedData } from '../host/rpc';
import type { Entity, EntityRequest, EntityResponse } from './hub-files';
import { functionOf, type HubState, thrown, toJson } from './hub-state';

/** The newest answers of an entity are kept, so that a request which comes twice is carried out once. */
const KEEP_ANSWERS = 100;

interface BatchResult {
  readonly entityExists: boolean;
  readonly entityState?: string;
  readonly results: readonly { readonly isError: boolean; readonly result?: string }[];
  readonly signals: readonly {
    readonly target: { readonly name: string; readonly key: string };
    readonly name: string;
    readonly input: string;
    readonly requestId: string;
  }[];
}

/** @param answer - gives an orchestration the answer for which it waits */
export function createEntities(state: HubState, answer: (request: EntityRequest, response: EntityResponse) => void) {
  const { options } = state;
  const entities = new Map(options.files.loadEntities().map((entity) => [entity.id, entity]));
  const busy = new Set<string>();

  const send = (id: string, request: EntityRequest): void => {
    functionOf(options, parseId(id).name, 'entity');
    const entity: Entity = entities.get(id) ?? { id, exists: false, state: undefined, queue: [], answers: [] };
    entities.set(id, entity);
    const known = entity.answers.find(([answered]) => answered === request.id);
    if (known !== undefined) {
      // Its sender may be about to be resumed.
      setImmediate(() => answer(request, known[1]));
      return;
    }
    if (entity.queue.some((queued) => queued.id === request.id)) return;
    entity.queue.push(request);
    options.files.saveEntity(entity);
    begin(entity);
  };

  const begin = (entity: Entity): void => {
    if (busy.has(entity.id) || entity.queue.length === 0 || state.stopped) return;
    busy.add(entity.id);
    setImmediate(() => void runBatch(entity));
  };

  const runBatch = async (entity: Entity): Promise<void> => {
    const batch = [...entity.queue];
    const result = await invoke(entity, batch);
    // Those that it signals get their messages first: a repeated batch sends them again, with the same ids.
    sendSignals(entity, result.signals);
    const responses = batch.map((request, index) => [request, responseOf(result.results[index])] as const);
    entity.exists = result.entityExists;
    entity.state = result.entityExists ? result.entityState : undefined;
    entity.queue.splice(0, batch.length);
    entity.answers = [...entity.answers, ...responses.map(([{ id }, response]) => [id, response] as const)].slice(
      -KEEP_ANSWERS,
    );
    options.files.saveEntity(entity);
    for (const [request, response] of responses) answer(request, response);
    busy.delete(entity.id);
    begin(entity);
  };

  const invoke = async (
    { id, exists, state: before }: Entity,
    batch: readonly EntityRequest[],
  ): Promise<BatchResult> => {
    const self = parseId(id);
    const requests = batch.map(({ id: request, operation, input, from }) => ({
      id: request,
      name: operation,
      signal: from === undefined,
      ...(input !== undefined && { input }),
    }));
    try {
      const fn = functionOf(options, self.name, 'entity');
      const trigger: TypedData = { string: JSON.stringify({ self, exists, state: before ?? null, batch: requests }) };
      const result = JSON.parse(toJson((await options.invoke(fn, { trigger })).returnValue) ?? '{}') as BatchResult;
      const failed = result.results.flatMap(({ isError }, index) => (isError ? [batch[index]?.operation] : []));
      for (const operation of failed) options.onError(self.name, `Error in operation '${String(operation)}' of ${id}`);
      return result;
    } catch (error) {
      const { message, stack } = thrown(error);
      options.onError(self.name, stack);
      const results = batch.map(() => ({ isError: true, result: JSON.stringify(message) }));
      return { entityExists: exists, ...(before !== undefined && { entityState: before }), results, signals: [] };
    }
  };

  const sendSignals = (entity: Entity, signals: BatchResult['signals']): void => {
    const counts = new Map<string, number>();
    for (const { target, name, input, requestId } of signals) {
      const count = (counts.get(requestId) ?? 0) + 1;
      counts.set(requestId, count);
      const request = { id: `${requestId}:${String(count)}`, operation: name, input: input === '' ? undefined : input };
      try {
        send(schedulerId(target), request);
      } catch (error) {
        options.onError(parseId(entity.id).name, (error as Error).message);
      }
    }
  };

  for (const entity of entities.values()) begin(entity);

  return {
    /** @throws an error if there is no such entity function */
    send,
    /** The state as JSON; undefined: the entity does not exist. */
    read(id: string): string | undefined {
      const entity = entities.get(id);
      return entity?.exists === true ? (entity.state ?? 'null') : undefined;
    },
  };
}

function responseOf(result: BatchResult['results'][number] | undefined): EntityResponse {
  const { isError = true, result: value } = result ?? {};
  return { ...(value !== undefined && { result: value }), ...(isError && { exceptionType: 'Error' }) };
}

/** The id of an entity's scheduler, as `durable-functions` writes it. */
export function schedulerId({ name, key }: { readonly name: string; readonly key: string }): string {
  return `@${name.toLowerCase()}@${key}`;
}

function parseId(id: string): { readonly name: string; readonly key: string } {
  const at = id.indexOf('@', 1);
  return { name: id.slice(1, at), key: id.slice(at + 1) };
}
