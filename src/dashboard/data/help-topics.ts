import type { RunOutcome } from '../../client/types';
import { ERROR_GUIDE, type Guidance, OPEN_GUIDE, REASON_GUIDE, STANDING_GUIDE, TROUBLE_GUIDE } from '../../core/guide';
import type { ShownState } from '../../core/shown-state';

/** A part of the help page. Its name and those of its topics, in lower case, are anchors. */
export interface HelpPart {
  readonly title: string;
  /** The guidance of the title itself, if it is a name too. */
  readonly own?: Guidance;
  readonly topics: readonly (readonly [name: string, guidance: Guidance])[];
}

/** Everything that the help page explains. A name that belongs to several parts is explained in the first. */
export const HELP: readonly HelpPart[] = withoutRepeats([
  ...Object.entries(STANDING_GUIDE).map(([title, own]) => ({
    title,
    own: { ...own, ...(title in REASON_GUIDE ? REASON_GUIDE[title as keyof typeof REASON_GUIDE] : {}) },
    topics: [
      ...Object.entries(REASON_GUIDE).filter(([name, { of }]) => name !== title && of.some((one) => one === title)),
      ...Object.entries(OPEN_GUIDE).filter(([, { of }]) => of === title),
    ],
  })),
  {
    title: 'Attempts that ended early',
    topics: Object.entries(REASON_GUIDE).filter(([, { of }]) => of.includes('attempt')),
  },
  { title: 'Jobs and deployments', topics: Object.entries(TROUBLE_GUIDE) },
  { title: 'Errors', topics: Object.entries(ERROR_GUIDE) },
]);

function withoutRepeats(parts: readonly HelpPart[]): readonly HelpPart[] {
  const seen = new Set<string>();
  return parts.map(({ topics, ...part }) => ({
    ...part,
    topics: topics.filter(([name]) => !seen.has(name) && seen.add(name)),
  }));
}

const ANCHORS = new Set(
  HELP.flatMap(({ title, own, topics }) => [
    ...(own === undefined ? [] : [title]),
    ...topics.map(([name]) => name),
  ]).map((name) => name.toLowerCase()),
);

/** The anchor of a topic, if the help page has it. */
export function anchorOf(topic: string | undefined): string | undefined {
  const anchor = topic?.toLowerCase();
  return anchor !== undefined && ANCHORS.has(anchor) ? anchor : undefined;
}

const STATE_TOPICS: Readonly<Partial<Record<ShownState, string>>> = {
  idle: 'succeeded',
  failing: 'failed',
  acknowledged: 'failed',
  waiting: 'claimDue',
};

export function topicOfState(state: ShownState): string {
  return STATE_TOPICS[state] ?? state;
}

/** Reasons that need no one have the topic of their outcome. */
export function topicOf(outcome: RunOutcome, reason: string | null): string {
  return reason === null || reason === 'completed' || reason === 'termEnded' ? outcome : reason;
}

export function topicOfError(code: string): string {
  return Object.entries(ERROR_GUIDE).find(([, { codes }]) => codes.includes(code))?.[0] ?? 'refused';
}
