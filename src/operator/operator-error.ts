export type OperatorProblem =
  | 'AlreadyPaused'
  | 'NotPaused'
  | 'NothingRuns'
  | 'RunGoesOn'
  | 'LeaderJob'
  | 'TooManyRequests'
  | 'NoteTooLong'
  | 'ControlFull'
  | 'Contended'
  | 'NotHeld'
  | 'CannotBreak'
  | 'LeaseHeld'
  | 'StillInFile'
  | 'UnknownJob'
  | 'Unseen'
  | 'FutureTime'
  | 'OlderFile';

/** What a person asked for is not done, since it makes no sense as things stand. The message says how they stand. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';

  constructor(
    readonly code: OperatorProblem,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
