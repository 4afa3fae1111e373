import { EventType, historyEvent, type HistoryEvent } from './history';
import { type Instance, type LiveInstance } from './instances';

/** The request is not valid: an unknown function, or an id that is not allowed. */
export class InvalidRequestError extends Error {
  readonly code = 'InvalidRequest';
  override readonly name = 'InvalidRequestError';
}

export function newInstance(id: string, name: string, input: string, parent: Instance['parent']): LiveInstance {
  const now = Date.now();
  return {
    id,
    name,
    input,
    parent,
    status: 'Pending',
    output: undefined,
    customStatus: undefined,
    createdAt: now,
    updatedAt: now,
    history: [],
    inbox: [executionStarted({ name, input })],
    execution: 0,
    timers: new Map(),
    pending: new Map(),
    busy: false,
    episodeAt: undefined,
  };
}

export function executionStarted({ name, input }: Pick<Instance, 'name' | 'input'>): HistoryEvent {
  return historyEvent({ EventType: EventType.ExecutionStarted, Name: name, Input: input });
}

/** The extension's own rules. */
export function checkInstanceId(id: string): string {
  if (id.startsWith('@')) throw new InvalidRequestError('Orchestration instance ids must not start with @.');
  if (/[/\\#?\p{Cc}]/u.test(id)) {
    throw new InvalidRequestError('Orchestration instance ids must not contain /, \\, #, ?, or control characters.');
  }
  if (id.length > 100) throw new InvalidRequestError('Instance ID lengths must not exceed 100 characters.');
  return id;
}
