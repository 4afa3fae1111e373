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

/** The words of a store for its parts, as messages show them. */
export interface StoreNouns {
  /** The thing that holds a row, a control or a record: `blob`. Its plural has an `s`. */
  readonly object: string;
  /** The thing that `--container` names: `container`. */
  readonly place: string;
}

/** The remedy of each denial, as an instruction in the service's terms. */
export interface Remedies extends Readonly<Record<Denial, string>> {
  /** The remedy if the service keeps a version of an object at each write. */
  readonly versions: string;
}

/** The settings of a service by which it may lose what it has accepted. */
export interface Durability {
  readonly risks: readonly { readonly isProblem: boolean; readonly message: string; readonly remedy: string }[];
}

/** The result of each kind of call that coordination makes, tried once with its own object. */
export interface Trial {
  readonly container: 'there' | 'missing' | 'unknown';
  /** Steps that were refused or not answered. */
  readonly failures: ReadonlyMap<TrialStep, StoreError>;
  /** Steps that were not tried, because a step they need had failed. */
  readonly untried: readonly TrialStep[];
  /** Whether the service keeps a version of an object at each write. Undefined: it has no such setting. */
  readonly versioned: boolean | undefined;
  /** How long the first answer took; undefined if there was none. */
  readonly answeredInMs: Millis | undefined;
  /** How far this machine's clock is ahead of the service's, by the first answer; precise to a second. */
  readonly skewMs: Millis | undefined;
  /** An object that could not be removed. */
  readonly left: string | undefined;
  /** The identity whose token was refused, if a token was. */
  readonly caller?: Caller | undefined;
  /** What the service's own settings mean for what it has accepted. Left out where it has no such settings. */
  readonly durability?: Durability;
  /** What the connection shows to others, if anything. Left out by a store whose connections cannot be without TLS. */
  readonly exposed?: { readonly message: string | undefined; readonly remedy: string };
  readonly nouns: StoreNouns;
  readonly remedies: Remedies;
}
