import { ForeignMetadataError } from '../core/metadata';
import { ForeignRecordError } from '../core/record';
import { StoreError } from '../lease/store';
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

/** A request that makes no sense in the job's present state, which the message describes. It was not carried out. */
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

/** A job that was left out, with the reason. */
export interface Refusal {
  readonly kind: 'refused';
  readonly code: string;
  readonly problem: string;
}

/** Turns an error about one of many jobs into a refusal, so that it does not stop the others. */
export async function orRefusal<T>(run: () => Promise<T>): Promise<T | Refusal> {
  try {
    return await run();
  } catch (error) {
    const known =
      error instanceof OperatorError ||
      error instanceof StoreError ||
      error instanceof ForeignMetadataError ||
      error instanceof ForeignRecordError;
    if (!known) throw error;
    return { kind: 'refused', code: error.code, problem: error.message };
  }
}
