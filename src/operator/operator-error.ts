export type OperatorProblem =
  | 'AlreadyPaused'
  | 'NotPaused'
  | 'PastEnd'
  | 'EndTooLate'
  | 'NothingRuns'
  | 'NoRun'
  | 'BadCursor'
  | 'RunGoesOn'
  | 'LeaderJob'
  | 'TooManyManualRuns'
  | 'NoteTooLong'
  | 'ControlFull'
  | 'Contended'
  | 'Changed'
  | 'OtherRun'
  | 'NotHeld'
  | 'CannotBreak'
  | 'LeaseHeld'
  | 'StillInFile'
  | 'UnknownJob'
  | 'Unseen'
  | 'FutureTime'
  | 'OlderFile'
  | 'NotRecorded'
  | 'KeyReused'
  | 'InputTooLarge'
  | 'InexactInput'
  | 'InputUnreadable'
  | 'NotDue'
  | 'UnknownDeployment'
  | 'AlreadyCordoned'
  | 'NotCordoned'
  | 'NothingToAcknowledge'
  | 'NotAcknowledged'
  | 'NoDueTimes'
  | 'OtherSchedule'
  | 'EmptyRange'
  | 'TooManyDueTimes'
  | 'BackfillGoesOn'
  | 'NothingToRun'
  | 'NoBackfill'
  | 'TwoRows'
  | 'LostRow'
  | 'AccountMissing'
  | 'LayoutUnclear';

/**
 * A request that makes no sense in the job's present state, and was not carried out. The message describes that state.
 */
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
