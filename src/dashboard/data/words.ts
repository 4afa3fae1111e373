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

export function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** With the note of a person, if there is one. */
export function noted(text: string, note = ''): string {
  return note === '' ? text : `${text}: ${note}`;
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

export function isOpen(outcome: RunOutcome): boolean {
  return outcome === 'running' || outcome === 'retrying';
}

/** @param outcome null: it is only in the record of the run */
export function outcomeLabel(outcome: RunOutcome | null): Label {
  return outcome === null ? { word: 'Over', icon: 'dot', tone: 'calm' } : OUTCOME_LABELS[outcome];
}

export function outcomeWord(outcome: RunOutcome | null): string {
  return outcomeLabel(outcome).word.toLowerCase();
}

export function plural(count: number, one: string, several = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : several}`;
}
