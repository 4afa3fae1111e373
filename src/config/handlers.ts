import type { JobName, Millis } from '../core/brand';
import { formatDuration } from '../core/duration';
import type { JobSpec } from '../core/job';
import { type StandardSchema, checkBy } from '../core/standard-schema';
import { type PathIssue, valueAt } from './config-error';
import { meantOr } from './suggest';

/** The parts of handlers that the configuration checks, by name. */
export type Registry = Readonly<
  Record<
    string,
    {
      readonly input?: StandardSchema | undefined;
      /** Present for a handler that fans out. */
      readonly policy?: { readonly itemTimeoutMs: Millis | undefined };
      /** Present for a handler that is an orchestration. */
      readonly orchestrator?: string;
    }
  >
>;

/** The settings of a job that concern its handler. */
export type HandledJob = Pick<JobSpec, 'name' | 'kind' | 'handler' | 'call' | 'input' | 'graceMs'>;

interface CheckedHandlers {
  /** By job: the input as the handler's schema returned it, or the file's if it has no schema. */
  readonly inputs: ReadonlyMap<JobName, unknown>;
  readonly errors: readonly PathIssue[];
}

/**
 * Checks that every job without a `call`, disabled ones included, has a handler in the registry whose schema accepts the job's `input`.
 * @param handlers the registry, by name
 * @param functionTimeoutMs host.json's, if known
 */
export function checkHandlers(
  jobs: readonly HandledJob[],
  handlers: Registry,
  functionTimeoutMs: Millis | undefined,
): CheckedHandlers {
  const inputs = new Map<JobName, unknown>();
  const errors: PathIssue[] = [];
  for (const spec of jobs) {
    if (spec.call !== undefined) {
      inputs.set(spec.name, spec.input);
      continue;
    }
    const handler = Object.hasOwn(handlers, spec.handler) ? handlers[spec.handler] : undefined;
    const wrong = Object.hasOwn(handlers, spec.handler) ? whyNoHandler(spec, handler) : undefined;
    if (wrong !== undefined) {
      errors.push(wrong);
      continue;
    }
    if (handler?.policy !== undefined) errors.push(...checkFanOut(spec, handler.policy, functionTimeoutMs));
    if (handler?.orchestrator !== undefined && spec.kind === 'always')
      errors.push(endsNever(spec, 'is an orchestration'));
    if (handler === undefined) errors.push(unknownHandler(spec, Object.keys(handlers)));
    else if (handler.input === undefined) inputs.set(spec.name, spec.input);
    else {
      const checked = checkInput(spec, handler.input);
      if ('errors' in checked) errors.push(...checked.errors);
      else inputs.set(spec.name, checked.input);
    }
  }
  return { inputs, errors };
}

/** Checks the handler's shape at run time, because the registry may come from code without types. */
function whyNoHandler(spec: HandledJob, handler: unknown): PathIssue | undefined {
  const issue = (message: string, remedy: string): PathIssue => handlerIssue(spec, message, remedy);
  const make = 'make it with defineJob({ run: async (context, input) => { … } })';
  if (handler === undefined || handler === null) {
    const message = `is ${String(handler)} in the registry of handlers: its module may not export it, or not yet`;
    return issue(message, 'correct its import');
  }
  if (typeof handler === 'function') return issue('is a function in the registry, and not a handler', make);
  const has = (name: string): boolean =>
    typeof handler === 'object' && name in handler && typeof Reflect.get(handler, name) === 'function';
  if (has('run') || (has('plan') && has('each') && has('gather'))) return undefined;
  if (typeof handler === 'object' && 'orchestrator' in handler && typeof handler.orchestrator === 'string') {
    return undefined;
  }
  return issue('has no function "run" in the registry', make);
}

function unknownHandler(spec: HandledJob, known: readonly string[]): PathIssue {
  const names = known.map((name) => `"${name}"`).join(', ') || 'none';
  const remedy = meantOr(spec.handler, known, 'use a name from the registry, or add the handler to it');
  return handlerIssue(spec, `is not in the registry of handlers, which holds ${names}`, remedy);
}

function handlerIssue(spec: HandledJob, message: string, remedy: string): PathIssue {
  return { path: ['jobs', spec.name, 'handler'], value: spec.handler, message, remedy };
}

/** A leader job never ends, so it cannot gather. An item's call must end before the host would end it. */
function checkFanOut(
  spec: HandledJob,
  { itemTimeoutMs }: NonNullable<Registry[string]['policy']>,
  functionTimeoutMs: Millis | undefined,
): readonly PathIssue[] {
  if (spec.kind === 'always') return [endsNever(spec, 'fans out')];
  if (functionTimeoutMs === undefined || itemTimeoutMs === undefined) return [];
  if (itemTimeoutMs + spec.graceMs <= functionTimeoutMs) return [];
  const message =
    `has an itemTimeout of ${formatDuration(itemTimeoutMs)}, which with the grace of ${formatDuration(spec.graceMs)} ` +
    `does not fit into the functionTimeout of host.json (${formatDuration(functionTimeoutMs)})`;
  return [handlerIssue(spec, message, 'lower itemTimeout, or raise functionTimeout')];
}

function endsNever(spec: HandledJob, what: string): PathIssue {
  return handlerIssue(spec, `${what}, which a leader job (@always) cannot`, 'give the job due times, or use defineJob');
}

function checkInput(spec: HandledJob, schema: StandardSchema): { errors: readonly PathIssue[] } | { input: unknown } {
  const wrong = (message: string, remedy: string): { errors: readonly PathIssue[] } => ({
    errors: [{ path: ['jobs', spec.name, 'input'], value: spec.input ?? null, message, remedy }],
  });
  const unchecked = `could not be checked: the schema of handler "${spec.handler}"`;
  const checked = checkBy(schema, spec.input);
  switch (checked.kind) {
    case 'fits':
      return { input: checked.value };
    case 'threw':
      return wrong(`${unchecked} threw ${String(checked.error)}`, 'correct the schema');
    case 'asynchronous':
      return wrong(`${unchecked} is asynchronous`, 'make it synchronous');
    case 'refused':
      return {
        errors: checked.issues.map(({ message, path }) => ({
          path: ['jobs', spec.name, 'input', ...path],
          value: valueAt(spec.input, path) ?? null,
          message: spec.input === undefined ? `is missing: ${message}` : message,
          remedy: `use an input that the schema of handler "${spec.handler}" accepts`,
        })),
      };
  }
}
