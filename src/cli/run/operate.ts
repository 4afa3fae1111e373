import { showSpan } from '../../core/show-time';
import type { LeaseStore } from '../../lease/store';
import * as operations from '../../operator/operations/cancel';
import { type Subject, subjectOf } from '../../operator/subject';
import { fileAtHand, type FileOptions } from '../jobs-file';
import { OK, print, printJson } from '../output';
import { openStore, type StorageOptions } from '../storage';
import type { TimeOptions } from '../time';
import { actingOn } from './person';

export interface OperateOptions extends FileOptions, StorageOptions, TimeOptions {
  readonly json?: boolean | undefined;
}

/** Options of a command whose change may have a reason. */
export interface ReasonedOptions extends OperateOptions {
  readonly note?: string | undefined;
}

export async function cancel(job: string, options: ReasonedOptions): Promise<number> {
  const file = fileAtHand(options);
  const store = openStore(options);
  const subject = await subjectOf(store, job, file);
  const acting = await actingOn(store, options.note);
  const { runId, requestedAt, endedBy } = await operations.cancel(acting, subject, { hasFile: file !== undefined });
  if (options.json) return printJson({ job, runId, requestedAt });
  if (endedBy === 'caller') {
    print(`Ended run ${runId} as cancelled: the job is not in this jobs file, and no instance would end it.`);
    return OK;
  }
  const leaseMs = subject.spec?.leaseMs;
  const third = leaseMs === undefined ? 'a third of its lease' : showSpan(leaseMs / 3);
  const how =
    endedBy === 'holder'
      ? `its instance ends it at the next renewal of its lease, within ${third}`
      : 'no attempt runs now, and the next tick ends it';
  print(`Requested the end of run ${runId}: ${how}.`);
  return OK;
}

export interface Target {
  readonly store: LeaseStore;
  readonly subject: Subject;
}

export async function targetOf(job: string, options: OperateOptions): Promise<Target> {
  const file = fileAtHand(options);
  const store = openStore(options);
  return { store, subject: await subjectOf(store, job, file) };
}
