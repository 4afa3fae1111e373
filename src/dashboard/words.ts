import type { Reason } from '../core/fate';
import type { ShownState } from '../core/shown-state';
import type { Outcome, RunSummary } from './model';

/** A colour's meaning. It never stands alone: an icon and a word go with it. */
export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'calm' | 'off';

export type IconName =
  | 'alert'
  | 'check'
  | 'clock'
  | 'cross'
  | 'dot'
  | 'eye'
  | 'lock'
  | 'pause'
  | 'retry'
  | 'run'
  | 'skip'
  | 'slash'
  | 'timeout';

export interface Label {
  readonly word: string;
  readonly icon: IconName;
  readonly tone: Tone;
}

export const STATE_LABELS: Readonly<Record<ShownState, Label>> = {
  quarantined: { word: 'Quarantined', icon: 'lock', tone: 'bad' },
  overdue: { word: 'Overdue', icon: 'alert', tone: 'bad' },
  failing: { word: 'Failing', icon: 'cross', tone: 'bad' },
  acknowledged: { word: 'Acknowledged', icon: 'eye', tone: 'warn' },
  retrying: { word: 'Retrying', icon: 'retry', tone: 'warn' },
  running: { word: 'Running', icon: 'run', tone: 'busy' },
  waiting: { word: 'Waiting', icon: 'clock', tone: 'busy' },
  idle: { word: 'Idle', icon: 'check', tone: 'good' },
  paused: { word: 'Paused', icon: 'pause', tone: 'off' },
  disabled: { word: 'Disabled', icon: 'slash', tone: 'off' },
};

export const OUTCOME_LABELS: Readonly<Record<Outcome, Label>> = {
  succeeded: { word: 'Succeeded', icon: 'check', tone: 'good' },
  failed: { word: 'Failed', icon: 'cross', tone: 'bad' },
  timedOut: { word: 'Timed out', icon: 'timeout', tone: 'bad' },
  stalled: { word: 'Stalled', icon: 'alert', tone: 'bad' },
  cancelled: { word: 'Cancelled', icon: 'slash', tone: 'off' },
  overlapped: { word: 'Overlapped', icon: 'skip', tone: 'warn' },
  collapsed: { word: 'Collapsed', icon: 'skip', tone: 'calm' },
  expired: { word: 'Expired', icon: 'skip', tone: 'warn' },
  paused: { word: 'Paused', icon: 'pause', tone: 'off' },
  disabled: { word: 'Disabled', icon: 'slash', tone: 'off' },
  running: { word: 'Running', icon: 'run', tone: 'busy' },
  retrying: { word: 'Retrying', icon: 'retry', tone: 'warn' },
};

/** The end of a run whose record alone has its outcome. */
export const UNKNOWN_LABEL: Label = { word: 'Over', icon: 'dot', tone: 'calm' };

export function outcomeLabel(outcome: Outcome | null): Label {
  return outcome === null ? UNKNOWN_LABEL : OUTCOME_LABELS[outcome];
}

/** The reasons of outcomes, as sentences without a stop. */
const REASONS: Readonly<Record<Reason, string>> = {
  completed: 'the handler returned',
  termEnded: 'the term ended, and the next one follows',
  handlerError: 'the handler threw in its last attempt',
  nonRetryable: 'the handler threw an error that is not retried',
  invalidInput: 'its input was refused or is gone',
  invalidResult: 'the handler returned something that is not JSON, or more than 32 KB of it',
  itemFailed: 'an item failed for good',
  holderLost: 'the instances that ran it died or lost their lease',
  failedOver: 'the storage failed over',
  outcomeUnknown: 'its record is gone or cannot be read',
  timeout: 'it took longer than its timeout',
  stallAfter: 'it reported no progress for too long',
  instanceStopped: 'its instance was shut down',
  leaseLost: 'it could not keep its lease',
  storageRefused: 'storage refused the app until its lease had ended',
  eventLoopBlocked: 'a handler blocked the event loop past its lease',
  cancelRequested: 'somebody cancelled it',
  overlapCancel: 'a newer due time or a request replaced it',
  overlapSkip: 'the run before it was still in progress',
  overlapNewer: 'a newer due time came while it waited',
  catchUpLatest: 'it was late, and only the latest such due time runs',
  catchUpWindow: 'nothing could run it within its catch-up window',
  noFreeSlot: 'no slot for its handler was free on its instance in time',
  groupFull: 'as many other jobs of its group as may run at once were running until it was too late',
  requirementNotMet: 'a job that it requires had not succeeded in time',
  catchUpNone: 'it was missed, and the job does not catch up',
  paused: 'the job was paused',
  disabled: 'the job was disabled in the jobs file',
  scheduleChanged: 'the schedule was changed before it was decided',
  notInFile: 'no jobs file had the job before it was decided',
};

/** What started a run. */
export const TRIGGER_WORDS: Readonly<Record<NonNullable<RunSummary['trigger']>, string>> = {
  schedule: 'schedule',
  catchUp: 'catch-up',
  takeOver: 'take-over',
  manual: 'request',
  backfill: 'back-fill',
};

export function reasonText(reason: string): string {
  const words: Readonly<Record<string, string>> = REASONS;
  return words[reason] ?? reason;
}

export function plural(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : several}`;
}
