import { given } from '../../core/given';
import type { EpochMs } from '../../core/brand';
import { isoOf } from '../../core/iso';
import { parseRecordKey, parseRunId } from '../../core/key';
import type { JobSpec } from '../../core/job';
import type { Requested } from '../../manage/schema/actions';
import { type Acting, operate } from '../audit';
import { type Named, once } from './once';
import { type RequestedRun, requestRun, shortId } from './request';
import { rerun as requestRerun } from './rerun';

export interface RunTerms {
  /** In the place of the job's own input, or of the input of the earlier run. */
  readonly input?: unknown;
  /** The caller's name for the request, which is then made once, however often it is sent. */
  readonly idempotencyKey?: string | undefined;
}

export interface RerunTerms extends RunTerms {
  /** The due time of the earlier run, or the time of its request. */
  readonly time: EpochMs;
  /** The earlier run. Default: the one that is found by `time`. */
  readonly runId?: string | undefined;
  /** Of the jobs file. */
  readonly revision: number;
}

export function run(acting: Acting, spec: JobSpec, { input, idempotencyKey }: RunTerms): Promise<Requested> {
  const { store, origin } = acting;
  return operate(acting, 'run', spec.name, async () => {
    const content = ['run', { input, note: origin.note }];
    const made = await named(acting, spec, { idempotencyKey, content }, (name) =>
      requestRun(store, spec, { ...name, origin, input }, acting),
    );
    return { answer: shown(spec, made), after: asked(made, input) };
  });
}

export function rerun(acting: Acting, spec: JobSpec, terms: RerunTerms): Promise<Requested> {
  const { store, origin } = acting;
  const { time, revision, input, idempotencyKey } = terms;
  return operate(acting, 'rerun', spec.name, async () => {
    let { runId } = terms;
    const earlier = parseRecordKey(parseRunId(runId ?? '')?.key ?? '');
    const content = ['rerun', runId ?? time, { input, note: origin.note }];
    const made = await named(acting, spec, { idempotencyKey, content }, async ({ id, time: requestedAt }) => {
      const { of, ...request } = await requestRerun(
        store,
        spec,
        revision,
        { time, request: earlier?.request, id, requestedAt, origin, input },
        acting,
      );
      runId ??= of;
      return request;
    });
    return { answer: shown(spec, made), before: { runId }, after: asked(made, input) };
  });
}

/** Makes a request under the caller's key, if there is one. */
function named(
  acting: Acting,
  spec: JobSpec,
  { idempotencyKey, content }: Pick<RunTerms, 'idempotencyKey'> & { readonly content: readonly unknown[] },
  request: (named: Partial<Named> & Pick<Named, 'id'>) => Promise<RequestedRun>,
): Promise<RequestedRun> {
  if (idempotencyKey === undefined) return request({ id: shortId() });
  const { channel, identity, actor } = acting.origin;
  const key = {
    name: JSON.stringify([channel, identity ?? actor, idempotencyKey]),
    content: JSON.stringify([spec.name, ...content]),
  };
  return once(acting.store, spec, key, request);
}

function shown({ name: job }: JobSpec, { requestedAt, ...made }: RequestedRun): Omit<Requested, 'recorded'> {
  return { ...made, job, requestedAt: isoOf(requestedAt) };
}

function asked({ runId }: RequestedRun, input: unknown): object {
  return { runId, ...given({ input }) };
}
