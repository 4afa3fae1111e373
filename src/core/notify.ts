import type { Millis } from './brand';

export const NOTICE_TOPICS = ['failure', 'recovery', 'overdue', 'unreadable', 'pause'] as const;

/** What a person wants to be told of a job. `overdue` and `unreadable` include the end of it. */
export type NoticeTopic = (typeof NOTICE_TOPICS)[number];

/** The `notify` of one job, with every default filled in. */
export interface NotifySettings {
  /** Names of receivers, whose addresses are in the app settings. */
  readonly to: readonly string[];
  readonly on: readonly NoticeTopic[];
  /** How many runs in a row must have failed. */
  readonly after: number;
  /** How often a failure, or an overdue job, is repeated while it lasts. Undefined: never. */
  readonly remindMs: Millis | undefined;
}
