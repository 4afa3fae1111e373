import { type Guidance, REASON_GUIDE } from '../../core/guide';
import type { ShownState } from '../../core/shown-state';
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
  unreadable: { word: 'Unreadable', icon: 'lock', tone: 'bad' },
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

/** What started a run. */
export const TRIGGER_WORDS: Readonly<Record<NonNullable<RunSummary['trigger']>, string>> = {
  schedule: 'schedule',
  catchUp: 'catch-up',
  takeOver: 'take-over',
  manual: 'manual run',
  backfill: 'back-fill',
};

/** What starts a run, for filters: a take-over continues one. */
export const RUN_TRIGGER_WORDS = Object.entries(TRIGGER_WORDS).filter(([trigger]) => trigger !== 'takeOver');

/** What a reason means, as the end of a sentence without its stop. */
export function reasonText(reason: string): string {
  const guides: Readonly<Record<string, Guidance>> = REASON_GUIDE;
  const [first = '', ...rest] = (guides[reason]?.meaning ?? reason).replaceAll('`', '"').replace(/\.$/, '');
  return first.toLowerCase() + rest.join('');
}

export function plural(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : several}`;
}
