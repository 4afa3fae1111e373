import type { EpochMs, JobName, ETag } from '../core/brand';
import {
  type Control,
  type ManualRun,
  type Pause,
  encodeControl,
  pendingManualRuns,
  takenManualRuns,
} from '../core/control';
import { isInForce } from '../core/incident';
import { type JobSpec, actualTime } from '../core/job';
import { runIdOf } from '../core/key';
import { isInstant, sameMetadata } from '../core/metadata';
import { movedTo } from '../core/layout';
import {
  type LeaseStore,
  type Metadata,
  metadataSize,
  type ControlStore,
  StoreLimitError,
  StoreUnavailableError,
} from '../lease/store';
import { type JobState, asideRunId, readState } from './job-state';
import { OperatorError } from './operator-error';
import type { Subject } from './subject';
import { outcomesOf } from './views/job-status';

/** The most characters of a note, and of a person's name. */
export const NOTE_LENGTH = 200;

/** How long, and how many, manual runs that were taken stay: a failover may lose only their records. */
const TAKEN_FOR_MS = 24 * 3_600_000;
const TAKEN_AT_MOST = 10;

export interface ControlChange<Result> {
  /** Undefined: write nothing. */
  readonly control: Control | undefined;
  readonly result: Result;
}

/** Where a control is changed. */
export interface Changing {
  readonly store: LeaseStore;
  /** The only version of the control that may be changed: {@link controlVersion}. Undefined: any. */
  readonly version?: string | undefined;
}

/** The version of a job's control, for callers that decide on what they have read. */
export function controlVersion({ controlEtag }: Pick<JobState, 'controlEtag'>): string {
  return controlEtag?.replaceAll('"', '') ?? 'none';
}

/**
 * Reads a job's control record, changes it and writes it back. If another writer wrote meanwhile, it starts again.
 *
 * @param change throws `OperatorError` if the request makes no sense in this state; may be called more than once
 * @throws OperatorError `Changed` if the control has another version than the wanted one; `ControlFull`; `Contended`,
 *   even if the job moved to another store meanwhile
 */
export function changeControl<Result>(
  { store, version }: Changing,
  subject: Subject,
  change: (state: JobState) => ControlChange<Result> | Promise<ControlChange<Result>>,
): Promise<Result> {
  const record = {
    name: subject.name,
    title: `the control record of job "${subject.name}"`,
    full: {
      holds: 'pauses, notes and waiting manual runs',
      remedy: 'Write a shorter note, or wait until a tick has passed the old ones.',
    },
    read: () => readState(store, subject.name),
    created: (metadata: Metadata) => assertNotMoved(store, subject.name, metadata),
  };
  return changeRecord(store, record, async (state) => {
    if (version !== undefined && version !== controlVersion(state)) {
      throw new OperatorError(
        'Changed',
        `another person has paused, resumed, requested, cancelled or acknowledged job "${subject.name}" meanwhile`,
      );
    }
    const { control, result } = await change(state);
    return { metadata: control && tidied(control, state, subject, store.limits.metadataBytes), result };
  });
}

/**
 * Takes back a control that was created after the job had left this store, if it would not be read. One that exists
 * need not be looked at: whoever moves a job takes its control away, so that a late change of it is refused.
 */
async function assertNotMoved(store: LeaseStore, job: JobName, metadata: Metadata): Promise<void> {
  const row = await store.readRow(job);
  const goal = row && movedTo(row.metadata);
  if (goal === undefined) return;
  const { control } = await store.readControl(job);
  // It has been taken along.
  if (control === undefined || !sameMetadata(control.metadata, metadata)) return;
  if ((await store.removeControl(job, control.etag)) === 'refused') return;
  throw new OperatorError('Contended', `job "${job}" moved to ${goal} meanwhile: repeat the command there`);
}

/** The record to write. What only a failover would need gives way to everything else. */
function tidied(control: Control, state: JobState, subject: Subject, bytes: number): Metadata {
  const kept = tidy(control, state, subject);
  for (let taken = keptManualRuns(control, state); ; taken = taken.slice(1)) {
    const metadata = encodeControl({ ...kept, manualRuns: [...taken, ...kept.manualRuns] });
    if (taken.length === 0 || metadataSize(metadata) <= bytes) return metadata;
  }
}

/** The last manual runs that were taken, without what only their runs need. */
function keptManualRuns(control: Control, { row, now }: JobState): readonly ManualRun[] {
  return takenManualRuns(control, row?.manualTaken ?? 0)
    .filter(({ time }) => time > now - TAKEN_FOR_MS)
    .slice(-TAKEN_AT_MOST)
    .map(({ number, id, time }) => ({ number, id, time, taken: true }));
}

/** Removes entries that no decision needs, so that the record does not grow until it is full. */
function tidy(control: Control, state: JobState, subject: Subject): Control {
  const { row } = state;
  const manualRuns = pendingManualRuns(control, row?.manualTaken ?? 0);
  if (row === undefined) return { ...control, manualRuns };
  const { name, spec } = subject;
  const { acknowledgement } = control;
  const runs = [row.run && runIdOf(name, row.run.key), asideRunId(name, row)];
  return {
    pauses: control.pauses.filter(
      (pause) => lasts(pause, state) || stillCounts(pause, row, spec) || excuses(pause, control, row, spec),
    ),
    cancel: runs.includes(control.cancel) ? control.cancel : undefined,
    manualRuns,
    // A back-fill that is over stays until the next one: its state can still be shown.
    backfill: control.backfill,
    acknowledgement:
      acknowledgement !== undefined && isInForce(acknowledgement, outcomesOf(subject, row, state), state.now)
        ? acknowledgement
        : undefined,
  };
}

/** Whether `alertAfter` counts the end of a pause as a success: the newest. A pause with nothing due has no record. */
function excuses(
  { until }: Pause,
  { pauses }: Control,
  row: NonNullable<JobState['row']>,
  spec: JobSpec | undefined,
): boolean {
  if (spec?.alertAfterMs === undefined || until === undefined) return false;
  return until > row.lastGoodAt && pauses.every((other) => (other.until ?? 0) <= until);
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

/** Refuses a note or a name that is too long. Throws `OperatorError` `NoteTooLong`. */
export function checkNote({ by, note }: { readonly by: string; readonly note: string }): void {
  for (const [what, text] of [
    ['note', note],
    ['name of the person', by],
  ] as const) {
    if (text.length <= NOTE_LENGTH) continue;
    const message = `the ${what} has ${text.length} characters, and ${NOTE_LENGTH} are allowed: shorten it`;
    throw new OperatorError('NoteTooLong', message);
  }
}

/** Refuses an end that is past, or that no instance could read. Throws `OperatorError` `PastEnd`, `EndTooLate`. */
export function checkEnd(what: 'pause' | 'acknowledgement', until: EpochMs | undefined, now: EpochMs): void {
  if (until === undefined) return;
  if (until <= now) {
    const at = new Date(until).toISOString();
    throw new OperatorError('PastEnd', `the ${what} is to end at ${at}, which is past: give a later end, or none`);
  }
  if (isInstant(until)) return;
  throw new OperatorError('EndTooLate', `the ${what} is to end after the year 2285: give an earlier end, or none`);
}

/** If so many writers in a row were faster, something is wrong. */
const ATTEMPTS = 10;

/** A record of operators' commands: of one job, or of the fleet. */
export interface CommandRecord<State extends { readonly controlEtag: ETag | undefined }> {
  readonly name: JobName;
  /** For messages: `the control record of job "nightly"`. */
  readonly title: string;
  /** For messages, if it is full: what it holds, and what to do. */
  readonly full: { readonly holds: string; readonly remedy: string };
  read(): Promise<State>;
  /** Called once a record that did not exist has been written. Throws if it had no business there. */
  readonly created?: (metadata: Metadata) => Promise<void>;
}

/**
 * Reads a record, changes it and writes it back. If another writer wrote meanwhile, it starts again.
 *
 * @param change returns the record to write; undefined: nothing is written. May be called more than once
 * @throws OperatorError `ControlFull`, `Contended`; the error of `change`
 */
export async function changeRecord<State extends { readonly controlEtag: ETag | undefined }, Result>(
  store: Pick<LeaseStore, keyof ControlStore | 'limits'>,
  record: CommandRecord<State>,
  change: (state: State) => Promise<{ readonly metadata: Metadata | undefined; readonly result: Result }>,
): Promise<Result> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const state = await record.read();
    const { metadata, result } = await change(state);
    if (metadata === undefined) return result;
    if (await write(store, record, { metadata, etag: state.controlEtag })) {
      if (state.controlEtag === undefined) await record.created?.(metadata);
      return result;
    }
  }
  throw new OperatorError('Contended', `${record.title} keeps changing, because others write it: try again`);
}

/** Whether the record was written, also by a call whose answer was lost, or that the network repeated. */
async function write(
  store: Pick<LeaseStore, keyof ControlStore | 'limits'>,
  { name, title, full }: Pick<CommandRecord<never>, 'name' | 'title' | 'full'>,
  { metadata, etag }: { readonly metadata: Metadata; readonly etag: ETag | undefined },
): Promise<boolean> {
  const isWritten = async (): Promise<boolean> => {
    const { control } = await store.readControl(name);
    return control !== undefined && sameMetadata(control.metadata, metadata);
  };
  try {
    return (await store.writeControl(name, metadata, etag)) === 'written' || (await isWritten());
  } catch (error) {
    if (error instanceof StoreLimitError) {
      const room = `${String(Math.floor(store.limits.metadataBytes / 1024))} KB of ${full.holds}`;
      throw new OperatorError('ControlFull', `${title} is full: it holds ${room}. ${full.remedy}`, { cause: error });
    }
    if (!(error instanceof StoreUnavailableError)) throw error;
    if (await isWritten()) return true;
    throw error;
  }
}
