import { readBackfill, storeBackfill } from './backfill';
import type { EpochMs } from './brand';
import { readAcknowledgement } from './incident';
import { isRequestId } from './key';
import {
  type RecordOf,
  decodeFields,
  encodeFields,
  isInstant,
  isText,
  isWhole,
  lenientIn,
  listIn,
  listText,
  membersOf,
  optional,
  orAbsent,
  textIn,
} from './metadata';
import { type Asked, readAsked } from './origin';

/** A stretch in which nothing new is claimed. Times are the storage service's. */
export interface Pause {
  readonly by: string;
  readonly note: string;
  readonly since: EpochMs;
  /** When it ended, or is to end. Undefined: it lasts until it is ended. */
  readonly until: EpochMs | undefined;
}

/** A run that a person asks for. */
export interface ManualRun extends Asked {
  /**
   * Grows with every manual run of the job. A row keeps the number of the last manual run taken, so a stale listing
   * cannot bring one back.
   */
  readonly number: number;
  readonly id: string;
  /** When the person asked: the run's `scheduledFor`. */
  readonly time: EpochMs;
  /** The row has taken it. It is kept for a while only because a failover may lose its record. */
  readonly taken?: true;
}

/** The members of a stored pause. */
export const PAUSE = { by: isText, note: isText, since: isInstant, until: orAbsent(isInstant) };

const CONTROL = {
  pauses: listIn('pauses', membersOf<Pause>(PAUSE)),
  /** The id of the run to cancel. */
  cancel: optional(textIn('cancel')),
  manualRuns: listIn('manualruns', readManualRun),
  /** It counts only while it is in force. */
  acknowledgement: lenientIn('acknowledged', readAcknowledgement, (one) => one && listText([one])),
  /** The last back-fill. */
  backfill: lenientIn('backfill', readBackfill, storeBackfill),
};

/** What operators asked of a job: the metadata of `jobs/<job>/control`. */
export interface Control extends RecordOf<typeof CONTROL> {}

export const NO_CONTROL: Control = {
  pauses: [],
  cancel: undefined,
  manualRuns: [],
  acknowledgement: undefined,
  backfill: undefined,
};

export function encodeControl(control: Control): Readonly<Record<string, string>> {
  return encodeFields<Control>(CONTROL, control);
}

/** The control of a stored record, or of a job that has none. Throws like {@link decodeControl}. */
export function controlOf(stored: { readonly metadata: Readonly<Record<string, string>> } | undefined): Control {
  return stored === undefined ? NO_CONTROL : decodeControl(stored.metadata);
}

/** Throws `ForeignMetadataError` when the metadata is not a control record's. */
export function decodeControl(metadata: Readonly<Record<string, string>>): Control {
  return decodeFields<Control>(CONTROL, metadata);
}

function readManualRun({
  number,
  id,
  time,
  taken,
  ...asked
}: Readonly<Record<string, unknown>>): ManualRun | undefined {
  if (!isWhole(number) || !isRequestId(id) || !isInstant(time)) return undefined;
  return { number, id, time, ...(taken === true ? { taken } : {}), ...readAsked(asked) };
}

/** The pause that covers an instant, if there is one. */
export function pauseAt(control: Control, instant: EpochMs): Pause | undefined {
  return control.pauses.find((pause) => pause.since <= instant && (pause.until === undefined || instant < pause.until));
}

/** The pause without an end, if there is one. */
export function openPause(control: Control): Pause | undefined {
  return control.pauses.find((pause) => pause.until === undefined);
}

/** The pause that lasts now, if there is one. Its end may be planned. */
export function currentPause(control: Control, now: EpochMs): Pause | undefined {
  return openPause(control) ?? pauseAt(control, now);
}

/** Manual runs not yet taken, oldest first. */
export function pendingManualRuns(control: Control, manualTaken: number): readonly ManualRun[] {
  return control.manualRuns
    .filter(({ number, taken }) => number > manualTaken && taken !== true)
    .sort((a, b) => a.number - b.number);
}

/** The other manual runs that the control still has. */
export function takenManualRuns(control: Control, manualTaken: number): readonly ManualRun[] {
  return control.manualRuns.filter(({ number, taken }) => number <= manualTaken || taken === true);
}

/** Whether the end of this run has paused the job. It may have been paused before, or the control had no room. */
export function isPausedFor({ pauses }: Pick<Control, 'pauses'>, runId: string): boolean {
  return pauses.some(({ by, note }) => by === 'cronlease' && note.endsWith(runId));
}
