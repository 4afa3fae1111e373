import { wordOf } from '../../core/guide';
import type { ShownState } from '../../core/shown-state';
import type { RunOutcome } from '../../client/types';

/** A colour's meaning. It is never without them: an icon and a word go with it. */
export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'calm' | 'off';

/** The path of each, in a square of 16. */
export const ICONS = {
  alert: 'M8 2.2 14.4 13.4H1.6ZM8 6.4v3.2M8 11.4v.2',
  check: 'M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8ZM5.2 8.2l2 2 3.6-4.2',
  clock: 'M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8ZM8 4.6V8l2.4 1.6',
  cross: 'M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8ZM5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4',
  dot: 'M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8ZM8 7.9v.2',
  eye: 'M1.4 8C3.6 4.4 6 3.6 8 3.6s4.4.8 6.6 4.4C12.4 11.6 10 12.4 8 12.4S3.6 11.6 1.4 8ZM8 6.2a1.8 1.8 0 1 1 0 3.6A1.8 1.8 0 0 1 8 6.2Z',
  lock: 'M3.4 7.2h9.2v6.4H3.4ZM5.4 7.2V5a2.6 2.6 0 0 1 5.2 0v2.2',
  pause: 'M5.4 3.2v9.6M10.6 3.2v9.6',
  retry: 'M13 8a5 5 0 1 1-1.5-3.6M13 1.8v3h-3',
  run: 'M4.6 2.8 12.6 8l-8 5.2Z',
  skip: 'M3 3.4 8.6 8 3 12.6ZM12.4 3.2v9.6',
  slash: 'M8 1.8a6.2 6.2 0 1 1 0 12.4A6.2 6.2 0 0 1 8 1.8ZM3.7 12.3l8.6-8.6',
  timeout: 'M4 1.8h8M4 14.2h8M5 1.8c0 4 6 4.4 6 12.4M11 1.8c0 4-6 4.4-6 12.4',
} as const;
export type IconName = keyof typeof ICONS;

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
