import { ForeignMetadataError } from '../../core/metadata';
import { ForeignRecordError } from '../../core/record';
import { StoreError } from '../../lease/store';
import { OperatorError } from '../operator-error';

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
