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

/** If so many writers in a row were faster, something is wrong. */
const ATTEMPTS = 10;

export interface Change<Result> {
  /** Undefined: write nothing. */
  readonly control: Control | undefined;
  readonly result: Result;
}

export interface ChangeOptions extends CallOptions {
  /** The only version of the control that may be changed: {@link controlVersion}. Undefined: any. */
  readonly version?: string | undefined;
}

/** The version of a job's control, for callers that decide on what they have read. */
export function controlVersion({ controlEtag }: Pick<JobState, 'controlEtag'>): string {
  return controlEtag?.replaceAll('"', '') ?? 'none';
}

/**
 * Reads a job's control record, changes it and writes it back. If somebody else wrote meanwhile, it starts again.
 *
 * @param change throws `OperatorError` if the request makes no sense in this state; may be called more than once
 * @throws OperatorError `Changed` if the control has another version than `options` wants; `Contended`
 */
export async function changeControl<Result>(
  store: LeaseStore,
  subject: Subject,
  change: (state: JobState) => Change<Result> | Promise<Change<Result>>,
  options?: ChangeOptions,
): Promise<Result> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const state = await readState(store, subject.name, options);
    if (options?.version !== undefined && options.version !== controlVersion(state)) {
      throw new OperatorError(
        'Changed',
        `somebody has paused, resumed, requested or cancelled job "${subject.name}" meanwhile`,
      );
    }
    const { control, result } = await change(state);
    if (control === undefined) return result;
    const metadata = encodeControl(tidy(control, state, subject));
    if (await write(store, subject.name, metadata, state, options)) return result;
  }
  throw new OperatorError(
    'Contended',
    `the control record of job "${subject.name}" keeps changing, because others write it: try again`,
  );
}

/**
 * Returns whether the control was written. A call whose answer was lost counts, and so does one that the network
 * repeated.
 */
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
        `the control record of job "${job}" is full: it holds ${String(Math.floor(store.limits.metadataBytes / 1024))} KB of pauses, notes and ` +
          'waiting requests. ' +
          'Write a shorter note, or wait until a tick has passed the old ones.',
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

/** Removes entries that no decision needs, so that the record does not grow until it is full. */
function tidy(control: Control, state: JobState, { name, spec }: Subject): Control {
  const { row } = state;
  if (row === undefined) return control;
  const current = row.run && runIdOf(name, row.run.key);
  return {
    pauses: control.pauses.filter(
      (pause) => lasts(pause, state) || stillCounts(pause, row, spec) || excuses(pause, control, row, spec),
    ),
    cancel: control.cancel === current ? control.cancel : undefined,
    requests: control.requests.filter((request) => request.number > row.manualTaken),
  };
}

/**
 * Whether `alertAfter` still counts the end of a pause as a success. A pause in which nothing was due has no record, so
 * only the control shows it. Only the newest end counts.
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

function lasts({ until = Infinity }: Pause, { now }: JobState): boolean {
  return until > now;
}

/** Whether an undecided due time may lie in a pause that is over. */
function stillCounts(
  { since, until = Infinity }: Pause,
  row: NonNullable<JobState['row']>,
  spec: JobSpec | undefined,
): boolean {
  if (until <= row.cursor) return false;
  // If the file's schedule is the row's, a pause without due times can go too: the pauses of a job on request have
  // none.
  if (spec?.scheduleHash !== row.scheduleHash) return true;
  const due = spec.timetable.next(Math.max(row.cursor, since - spec.offsetMs - 1));
  return due !== undefined && actualTime(spec, due) < until;
}
