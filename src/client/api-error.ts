import type { Problem } from './types';

/** An error answer, with its problem details. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The status of the answer; 401 also if the platform redirected to its login page. */
  readonly status: number;
  /** What went wrong, for programs: `UnknownJob`, `AlreadyPaused`, `NotAuthenticated`. */
  readonly code: string;
  /** The member, parameter or header that is wrong. */
  readonly place: string;
  /** Its value; null if it was missing, or is secret. */
  readonly value: string | null;
  /** What to do. */
  readonly remedy: string;
  /** Every error of the request, if it has several. */
  readonly errors: NonNullable<Problem['errors']>;
  /** The shortest wait before another attempt, if the server named one. */
  readonly retryAfterMs: number | undefined;

  constructor(
    problem: Pick<Problem, 'status' | 'code' | 'detail' | 'place' | 'value' | 'remedy' | 'errors'>,
    retryAfterMs?: number,
  ) {
    const { status, code, detail, place, value, remedy, errors = [] } = problem;
    super(`${place}${value === null ? '' : ` ${JSON.stringify(value)}`}: ${detail}. ${remedy}`);
    this.status = status;
    this.code = code;
    this.place = place;
    this.value = value;
    this.remedy = remedy;
    this.errors = errors;
    this.retryAfterMs = retryAfterMs;
  }
}
