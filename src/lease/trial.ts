import type { Millis } from '../core/brand';
import type { Denial, StoreError } from './store';

/** The calls that coordination makes, in the order of the trial. */
export const TRIAL_STEPS = ['list', 'read', 'create', 'lease', 'write', 'release', 'delete'] as const;
export type TrialStep = (typeof TRIAL_STEPS)[number];

/** The identity of the caller, as messages show it. */
export interface Caller {
  /** The name with its kind: `the user ada@example.com`. */
  readonly name: string;
  /** The directory of the identity: `tenant 1234`. */
  readonly realm: string;
}

/** The remedy of each denial, as an instruction in the service's terms. */
export interface Remedies extends Readonly<Record<Denial, string>> {
  /** The remedy if the service keeps a version of a blob at each write. */
  readonly versions: string;
}

/** The result of each kind of call that coordination makes, tried once with a blob of its own. */
export interface Trial {
  readonly container: 'there' | 'missing' | 'unknown';
  /** Steps that were refused or not answered. */
  readonly failures: ReadonlyMap<TrialStep, StoreError>;
  /** Steps that were not tried, because a step they need had failed. */
  readonly untried: readonly TrialStep[];
  /** Whether the service keeps a version of a blob at each write. */
  readonly versioned: boolean;
  /** How long the first answer took; undefined if there was none. */
  readonly answeredInMs: Millis | undefined;
  /** How far this machine's clock is ahead of the service's, by the first answer; precise to a second. */
  readonly skewMs: Millis | undefined;
  /** A blob that could not be removed. */
  readonly left: string | undefined;
  /** The identity whose token was refused, if a token was. */
  readonly caller?: Caller | undefined;
  readonly remedies: Remedies;
}
