import type { JobName } from '../../core/brand';
import { isoOf } from '../../core/iso';
import { type Acting, type Recorded, operate } from '../audit';
import { type CancelledRun, cancelRun } from '../cancel';
import { cancelOrEnd } from './end-left-run';
import type { Subject } from '../subject';

type Cancelled = Recorded<Omit<CancelledRun, 'requestedAt'> & { readonly job: JobName; readonly requestedAt: string }>;

export interface CancelTerms {
  /** The run that must be the one in progress. Default: any. */
  readonly runId?: string | undefined;
  /** Whether the caller has a jobs file: without one, nobody knows whether the file lacks the job. */
  readonly hasFile: boolean;
}

/** Cancels the run in progress, or ends the waiting run of a job that the caller's jobs file lacks. */
export function cancel(acting: Acting, subject: Subject, { runId, hasFile }: CancelTerms): Promise<Cancelled> {
  return operate(acting, 'cancel', subject.name, async () => {
    const wanted = { ...acting, runId };
    const made = hasFile ? await cancelOrEnd(acting, subject, wanted) : await cancelRun(acting.store, subject, wanted);
    return {
      answer: { ...made, job: subject.name, requestedAt: isoOf(made.requestedAt) },
      before: { runId: made.runId },
      after: { cancelling: made.runId },
    };
  });
}
