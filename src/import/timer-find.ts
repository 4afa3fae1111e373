/** A value that an app setting gives, and the one that it has without. */
export class FromSetting {
  constructor(
    readonly name: string,
    readonly fallback: unknown,
  ) {}
}

/** A value that only a run of the program would show. */
export const UNKNOWN = Symbol('unknown');

/** A timer that a source registers. */
export interface TimerCall {
  readonly kind: 'timer';
  readonly line: number;
  readonly name: unknown;
  /** The members of the options; undefined if they are computed. */
  readonly options: ReadonlyMap<string, unknown> | undefined;
  /** The words that are taken for `app.timer`, if the file does not show where they come from. */
  readonly takenFor?: string;
}

/** What looks like a timer and cannot be read. */
export interface UnreadTimer {
  readonly kind: 'unread';
  readonly line: number;
  readonly what: string;
  readonly why: string;
}

export type TimerFind = TimerCall | UnreadTimer;
