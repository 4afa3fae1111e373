import { wordOf } from '../../core/guide';
import type { ShownState } from '../../core/shown-state';
import type { RunOutcome } from '../../client/types';

/** A colour's meaning. It is never without them: an icon and a word go with it. */
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

function labelled<Name extends string>(
  looks: Readonly<Record<Name, readonly [icon: IconName, tone: Tone]>>,
): Readonly<Record<Name, Label>> {
  const all = Object.entries(looks) as [Name, readonly [IconName, Tone]][];
  return Object.fromEntries(
    all.map(([name, [icon, tone]]) => [name, { word: capital(wordOf(name)), icon, tone }]),
  ) as Record<Name, Label>;
}

/** Why a job has no next due time. */
export const NO_DUE_TIMES = {
  timed: 'There is none within the next 5 years.',
  always: 'There is none: a leader job runs all the time.',
  manual: 'There is none: it only runs on request.',
} as const;

export function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

export const STATE_LABELS = labelled<ShownState>({
  unreadable: ['lock', 'bad'],
  overdue: ['alert', 'bad'],
  failing: ['cross', 'bad'],
  acknowledged: ['eye', 'warn'],
  retrying: ['retry', 'warn'],
  running: ['run', 'busy'],
  waiting: ['clock', 'busy'],
  idle: ['check', 'good'],
  paused: ['pause', 'off'],
  disabled: ['slash', 'off'],
});

export const OUTCOME_LABELS = labelled<RunOutcome>({
  succeeded: ['check', 'good'],
  failed: ['cross', 'bad'],
  timedOut: ['timeout', 'bad'],
  stalled: ['alert', 'bad'],
  cancelled: ['slash', 'off'],
  overlapped: ['skip', 'warn'],
  collapsed: ['skip', 'calm'],
  expired: ['skip', 'warn'],
  paused: ['pause', 'off'],
  disabled: ['slash', 'off'],
  running: ['run', 'busy'],
  retrying: ['retry', 'warn'],
});

/** The end of a run whose outcome is only in its record. */
export const UNKNOWN_LABEL: Label = { word: 'Over', icon: 'dot', tone: 'calm' };

export function outcomeLabel(outcome: RunOutcome | null): Label {
  return outcome === null ? UNKNOWN_LABEL : OUTCOME_LABELS[outcome];
}

export function plural(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : several}`;
}
