import { randomUUID } from 'node:crypto';
import { systemClock } from '../../system-clock';
import { type AppRegistry, logAsApp, type LogLine, runHooks } from './core-api';
import type { HostedFunction } from './functions';
import type { CoreInvocationContext, InvocationResponse, TypedData } from './rpc';

interface InvocationInput {
  readonly trigger: TypedData;
  readonly triggerMetadata?: Readonly<Record<string, TypedData>>;
  /** Default: a new one. */
  readonly invocationId?: string;
}

type Identified = InvocationInput & { readonly invocationId: string };

/** Calls a function of the app as the real worker does. Rejects with the error of the function or of a hook. */
export type Invoke = (fn: HostedFunction, input: InvocationInput) => Promise<InvocationResponse>;

export interface InvokeOptions {
  readonly registry: AppRegistry;
  readonly sink: (line: LogLine) => void;
  readonly clientInput: TypedData;
  readonly timeoutMs: number | undefined;
  /** Called when an invocation has lasted longer than `functionTimeout`: the host must end. */
  readonly onTimeout: (message: string) => void;
}

function timeSpan(ms: number): string {
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}`;
}

interface Invocations {
  readonly invoke: Invoke;
  idle(): Promise<void>;
}

export function createInvoke(options: InvokeOptions): Invocations {
  const running = new Set<Promise<unknown>>();
  return {
    async invoke(fn, input) {
      const invocation = invokeWithin(options, fn, { invocationId: randomUUID(), ...input });
      running.add(invocation);
      try {
        return await invocation;
      } finally {
        running.delete(invocation);
      }
    },
    async idle() {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}

async function invokeWithin(
  options: InvokeOptions,
  fn: HostedFunction,
  input: Identified,
): Promise<InvocationResponse> {
  const { timeoutMs = Infinity, onTimeout } = options;
  const cancel = systemClock.after(timeoutMs, () => {
    onTimeout(
      `Timeout value of ${timeSpan(timeoutMs)} exceeded by function '${fn.name}' (Id: '${input.invocationId}'). ` +
        'As on Azure, the process ends with everything that ran in it. Raise "functionTimeout" in host.json.',
    );
  });
  try {
    return await invokeOnce(options, fn, input);
  } finally {
    cancel();
  }
}

async function invokeOnce(
  { registry, sink, clientInput }: InvokeOptions,
  fn: HostedFunction,
  { invocationId, ...input }: Identified,
): Promise<InvocationResponse> {
  const { metadata, callback } = fn.registered;
  const core: CoreInvocationContext = {
    invocationId,
    metadata,
    state: undefined,
    request: {
      invocationId,
      functionId: metadata.functionId ?? fn.name,
      inputData: [
        { name: fn.trigger, data: input.trigger },
        ...fn.clientInputs.map((name) => ({ name, data: clientInput })),
      ],
      triggerMetadata: input.triggerMetadata ?? {},
    },
    log: (level, category, message) => logAsApp(registry, sink, { level, category, message }, fn.name),
  };
  const model = registry.programmingModel;
  if (model === undefined) throw new Error('No programming model: @azure/functions was not loaded.');
  const invocation = await model.getInvocationModel(core);
  const { context, inputs } = await invocation.getArguments();
  // Read-only for hooks, as in the worker: in strict mode, an assignment to a member that has only a getter throws.
  const hookData = {};
  const shared = {
    get hookData() {
      return hookData;
    },
    get appHookData() {
      return registry.appHookData;
    },
    get invocationContext() {
      return context;
    },
  };
  const withShared = <T extends object>(own: T): T =>
    Object.defineProperties(own, Object.getOwnPropertyDescriptors(shared));

  const before = withShared({ inputs, functionCallback: callback });
  core.state = 'preInvocationHooks';
  await runHooks(registry, 'preInvocation', before);
  const after = withShared<{ inputs: unknown[]; result: unknown; error: unknown }>({
    inputs: before.inputs,
    result: null,
    error: null,
  });
  core.state = 'invocation';
  try {
    after.result = await invocation.invokeFunction(context, before.inputs, before.functionCallback);
  } catch (error) {
    after.error = error ?? new Error('Unknown error');
  }
  core.state = 'postInvocationHooks';
  await runHooks(registry, 'postInvocation', after);
  core.state = undefined;
  if (after.error !== null && after.error !== undefined) throw after.error;
  return invocation.getResponse(context, after.result);
}
