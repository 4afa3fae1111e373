import type { JobName } from '../core/brand';
import type { Control, Pause } from '../core/control';
import { encodeControl } from '../core/control';
import type { JobSpec } from '../core/job';
import { actualTime } from '../core/job';
import { runIdOf } from '../core/key';
import { sameMetadata } from '../core/metadata';
import type { CallOptions, LeaseStore, Metadata } from '../lease/store';
import { StoreLimitError, StoreUnavailableError } from '../lease/store';
import type { JobState } from './job-state';
import { readState } from './job-state';
import { OperatorError } from './operator-error';
import type { Subject } from './subject';

/** So many others in a row were faster: something is wrong. */
const ATTEMPTS = 10;

export interface Change<Result> {
  /** Undefined: nothing is to be written. */
  readonly control: Control | undefined;
  readonly result: Result;
}

/**
 * Reads a job's control record, changes it, and writes it if nobody else has meanwhile; else once more from the start.
 *
 * @param change throws `OperatorError` where what is asked for makes no sense; may be called more than once
 */
export async function changeControl<Result>(
  store: LeaseStore,
  subject: Subject,
  change: (state: JobState) => Change<Result> | Promise<Change<Result>>,
  options?: CallOptions,
): Promise<Result> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const state = await readState(store, subject.name, options);
    const { control, result } = await change(state);
    if (control === undefined) return result;
    const metadata = encodeControl(tidy(control, state, subject));
    if (await write(store, subject.name, metadata, state, options)) return result;
  }
  throw new OperatorError(
    'Contended',
    `the control record of job "${subject.name}" is being changed by others all the time: try again`,
  );
}

/** Returns whether it was written, also by a call whose answer was lost, or that was made twice on its way. */
async function write(
  store: LeaseStore,
  job: JobName,
  metadata: Metadata,
  { controlEtag }: JobState,
  options: CallOptions | undefined,
): Promise<boolean> {
  try {
    if ((await store.writeControl(job, metadata, controlEtag, options)) === 'written') return true;
    return await isWritten(store, job, metadata, options);
  } catch (error) {
    if (error instanceof StoreLimitError) {
      throw new OperatorError(
        'ControlFull',
        `the control record of job "${job}" has no more room: it holds ${String(Math.floor(store.limits.metadataBytes / 1024))} KB of pauses, notes and ` +
          'waiting requests. ' +
          'Write a shorter note, or wait until a tick has gone past the old ones.',
        { cause: error },
      );
    }
    if (!(error instanceof StoreUnavailableError)) throw error;
    if (await isWritten(store, job, metadata, options)) return true;
    throw error;
  }
}

async function isWritten(
  store: LeaseStore,
  job: JobName,
  metadata: Metadata,
  options: CallOptions | undefined,
): Promise<boolean> {
  const { control } = await store.readControl(job, options);
  return control !== undefined && sameMetadata(control.metadata, metadata);
}

/** Drops what no decision needs any more: else the record would grow until it is full. */
function tidy(control: Control, state: JobState, { name, spec }: Subject): Control {
  const { row } = state;
  if (row === undefined) return control;
  const current = row.run && runIdOf(name, row.run.key);
  return {
    pauses: control.pauses.filter((pause) => stillCounts(pause, row, spec) || excuses(pause, control, row, spec)),
    cancel: control.cancel === current ? control.cancel : undefined,
    requests: control.requests.filter((request) => request.number > row.manualTaken),
  };
}

/**
 * Whether the end of a pause still counts as a success would, for `alertAfter`. A pause in which nothing was due has no
 * record, so that the control alone can show it; only the newest end counts.
 */
function excuses(
  { until }: Pause,
  { pauses }: Control,
  row: NonNullable<JobState['row']>,
  spec: JobSpec | undefined,
): boolean {
  if (spec?.alertAfterMs === undefined || until === undefined) return false;
  return until > (row.lastGoodAt ?? 0) && pauses.every((other) => (other.until ?? 0) <= until);
}

/** Whether an undecided due time may lie in a pause. */
function stillCounts({ since, until }: Pause, row: NonNullable<JobState['row']>, spec: JobSpec | undefined): boolean {
  if (until === undefined) return true;
  if (until <= row.cursor) return false;
  // Where the schedule is known to be the row's, a pause without due times is over too: a job on request has no others.
  if (spec?.scheduleHash !== row.scheduleHash) return true;
  const due = spec.timetable.next(Math.max(row.cursor, since - spec.offsetMs - 1));
  return due !== undefined && actualTime(spec, due) < until;
}
