import type { Millis } from '../core/brand';
import type { Denial, StoreError } from './store';

/** What coordination does in storage, in this order. */
export const TRIAL_STEPS = ['list', 'read', 'create', 'lease', 'write', 'release', 'delete'] as const;
export type TrialStep = (typeof TRIAL_STEPS)[number];

/** Whose identity the calls were made with, as messages show it. */
export interface Caller {
  /** With its kind: `the user ada@example.com`. */
  readonly name: string;
  /** Where the identity belongs: `tenant 1234`. */
  readonly realm: string;
}

/** What a person does so that this caller is let in, by what keeps it out, in the words of the service. */
export interface Remedies extends Readonly<Record<Denial, string>> {
  /** The service keeps a version of each blob with each write. */
  readonly versions: string;
}

/** What came of doing all that coordination does, once, with a blob of its own. */
export interface Trial {
  readonly container: 'there' | 'missing' | 'unknown';
  /** What was refused, or not answered. */
  readonly failures: ReadonlyMap<TrialStep, StoreError>;
  /** What could not be tried, since what it needs had failed. */
  readonly untried: readonly TrialStep[];
  /** The service keeps a version of each blob with each write. */
  readonly versioned: boolean;
  /** How long the first answer took; undefined: there was none. */
  readonly answeredInMs: Millis | undefined;
  /** How far this machine's clock is ahead of the service's, as the first answer told it; precise to a second. */
  readonly skewMs: Millis | undefined;
  /** A blob that could not be removed. */
  readonly left: string | undefined;
  /** Where an identity's token was refused: whose. */
  readonly caller?: Caller | undefined;
  readonly remedies: Remedies;
}
