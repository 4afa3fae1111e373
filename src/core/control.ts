import type { EpochMs } from './brand';
import { isRequestId } from './key';
import { isInstant, MetadataReader, writeMetadata } from './metadata';

/** A stretch in which nothing new is claimed. Times are the storage service's. */
export interface Pause {
  readonly by: string;
  readonly note: string;
  readonly since: EpochMs;
  /** Undefined: still paused. */
  readonly until: EpochMs | undefined;
}

/** "Run it now." */
export interface ManualRequest {
  /** Grows with every request of the job: what was taken is known by number, whatever a stale listing shows. */
  readonly number: number;
  readonly id: string;
  /** When it was asked for: the run's `scheduledFor`. */
  readonly time: EpochMs;
}

/** What people want of a job: the metadata of `jobs/<job>/control`. */
export interface Control {
  readonly pauses: readonly Pause[];
  /** The id of the run that is to be cancelled. */
  readonly cancel: string | undefined;
  readonly requests: readonly ManualRequest[];
}

export const NO_CONTROL: Control = { pauses: [], cancel: undefined, requests: [] };

export function encodeControl(control: Control): Readonly<Record<string, string>> {
  return writeMetadata({
    format: 1,
    pauses: control.pauses,
    cancel: control.cancel,
    requests: control.requests,
  });
}

/** Throws `ForeignMetadataError` when the metadata is not a control record's. */
export function decodeControl(metadata: Readonly<Record<string, string>>): Control {
  const read = new MetadataReader(metadata);
  read.oneOf('format', ['1']);
  return {
    pauses: read.list('pauses', ({ by, note, since, until }) =>
      typeof by === 'string' &&
      typeof note === 'string' &&
      isInstant(since) &&
      (until === undefined || isInstant(until))
        ? { by, note, since, until }
        : undefined,
    ),
    cancel: read.optionalText('cancel'),
    requests: read.list('requests', ({ number, id, time }) =>
      Number.isSafeInteger(number) && typeof number === 'number' && isRequestId(id) && isInstant(time)
        ? { number, id, time }
        : undefined,
    ),
  };
}

/** The pause in which an instant lies, if any. */
export function pauseAt(control: Control, instant: EpochMs): Pause | undefined {
  return control.pauses.find((pause) => pause.since <= instant && (pause.until === undefined || instant < pause.until));
}

/** The pause that is still on. */
export function openPause(control: Control): Pause | undefined {
  return control.pauses.find((pause) => pause.until === undefined);
}

/** Requests not yet taken, oldest first. */
export function pendingRequests(control: Control, manualTaken: number): readonly ManualRequest[] {
  return control.requests.filter((request) => request.number > manualTaken).sort((a, b) => a.number - b.number);
}
