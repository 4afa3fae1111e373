import { ContinuationError } from '../lease/dealt-store';
import { StoreDeniedError, StoreError } from '../lease/store';
import { ForeignMetadataError } from '../core/metadata';
import { ForeignRecordError } from '../core/record';
import { OperatorError, type OperatorProblem } from '../operator/operator-error';
import type * as z from 'zod';
import type { Problem } from './schema';

export interface RequestIssue {
  /** The member, parameter or header. */
  readonly place: string;
  /** Its value; null, the default, if it was missing, or is secret. */
  readonly value?: string | null;
  readonly problem: string;
  readonly remedy: string;
}

export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly issues: readonly [RequestIssue, ...RequestIssue[]];

  constructor(
    readonly status: number,
    readonly code: string,
    issues: RequestIssue | readonly [RequestIssue, ...RequestIssue[]],
    readonly headers: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    const all = 'place' in issues ? ([issues] as const) : issues;
    super(all[0].problem, options);
    this.issues = all;
  }
}

/** The body of an error's answer: RFC 9457. */
export type ProblemBody = z.output<typeof Problem>;

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};

/** The most characters of a value that an answer repeats. */
const VALUE = 100;

export function problemBody({ status, code, issues }: RequestError): ProblemBody {
  const { problem, ...first } = shown(issues[0]);
  return {
    type: 'about:blank',
    title: TITLES[status] ?? 'Error',
    status,
    code,
    detail: problem,
    ...first,
    ...(issues.length > 1 ? { errors: issues.map(shown) } : {}),
  };
}

function shown({ place, value = null, problem, remedy }: RequestIssue): NonNullable<ProblemBody['errors']>[number] {
  const isLong = value !== null && value.length > VALUE;
  const cut = isLong ? `${value.slice(0, VALUE).replace(/[\uD800-\uDBFF]$/, '')}…` : value;
  return { place, value: cut, problem, remedy };
}

/** A request, or a part of it, that is not as the API takes it. */
export function invalidRequest(issue: RequestIssue): RequestError {
  return new RequestError(400, 'InvalidRequest', issue);
}

/** Every problem of an operator's request, with its status and what to do about it. */
const OPERATOR: Readonly<Record<OperatorProblem, readonly [status: number, remedy: string]>> = {
  AlreadyPaused: [409, 'resume the job first, or leave it as it is'],
  PastEnd: [400, 'give a later end, or none'],
  EndTooLate: [400, 'give an earlier end, or none'],
  NotPaused: [409, 'read the job again: another person may have resumed it'],
  NothingRuns: [409, 'read the job again: the run may be over'],
  NoRun: [404, 'list the runs of the job: old records are deleted by "keep"'],
  BadCursor: [400, 'use the "next" of the page before, or leave it out'],
  RunGoesOn: [409, 'wait until the run is over, or cancel it'],
  LeaderJob: [409, 'leave it: its terms follow one another'],
  TooManyManualRuns: [409, 'wait until some of them have run'],
  NoteTooLong: [400, 'shorten it'],
  ControlFull: [409, 'use a shorter note, or wait until a tick has passed the old entries'],
  Contended: [409, 'try again'],
  Changed: [412, 'read the job again, and decide again'],
  OtherRun: [409, 'read the job again: another run is in progress'],
  AlreadyCordoned: [409, 'lift the cordon first, or leave it as it is'],
  NotCordoned: [409, 'read the deployments again: another person may have lifted it'],
  NothingToAcknowledge: [409, 'read the job again: it may have succeeded'],
  NotAcknowledged: [409, 'read the job again: its acknowledgement may have ended'],
  UnknownDeployment: [404, 'use a name that GET deployments lists'],
  KeyReused: [422, 'send a new key with each new request'],
  NotRecorded: [503, 'try again; the app needs the right to write to the store, and to CRONLEASE_AUDIT if that is set'],
  InexactInput: [400, 'put the integer in double quotes, as text'],
  InputTooLarge: [413, 'store the input elsewhere, such as in a blob, and give its name'],
  InputUnreadable: [409, 'give an input'],
  NotDue: [404, 'use the due time of a run, as GET runs lists them'],
  NotHeld: [409, 'read the job again'],
  CannotBreak: [409, 'stop the instance that holds the lease'],
  LeaseHeld: [409, 'wait until the run is over'],
  StillInFile: [409, 'remove the job from the jobs file first'],
  UnknownJob: [404, 'use a name that GET jobs lists'],
  Unseen: [409, 'wait until a deployment has seen the job'],
  FutureTime: [400, 'use a time in the past'],
  OlderFile: [409, 'use the newer jobs file'],
  NoDueTimes: [409, 'request a run instead'],
  OtherSchedule: [409, 'wait until the file is deployed everywhere'],
  EmptyRange: [400, 'choose another span'],
  TooManyDueTimes: [400, 'choose a shorter span'],
  BackfillGoesOn: [409, 'wait until it is over, or stop it'],
  NothingToRun: [409, 'include those that have succeeded, or choose another span'],
  NoBackfill: [409, 'read the job again: its back-fill may be over'],
  TwoRows: [409, 'delete the row that does not count'],
  LostRow: [409, 'restore the row'],
  AccountMissing: [409, 'name the missing account'],
  LayoutUnclear: [409, 'run "cronlease shards --apply", which looks at each row'],
};

const NOT_RECORDED = 'nothing was changed, because the change could not be recorded';

/** The error of an answer; undefined: it is a bug, and its text must not leave the app. */
export function requestErrorOf(error: unknown): RequestError | undefined {
  if (error instanceof RequestError) return error;
  const known = (status: number, code: string, issue: RequestIssue): RequestError =>
    new RequestError(status, code, issue, {}, { cause: error });
  if (error instanceof OperatorError) {
    const [status, remedy] = OPERATOR[error.code];
    // What storage said is for the log.
    const problem = error.code === 'NotRecorded' ? NOT_RECORDED : error.message;
    return known(status, error.code, { place: 'job', problem, remedy });
  }
  if (error instanceof ContinuationError) {
    return known(400, error.code, { place: 'query: cursor', problem: error.message, remedy: 'begin without a cursor' });
  }
  if (error instanceof ForeignMetadataError || error instanceof ForeignRecordError) {
    const remedy = 'restore the record, or run "cronlease doctor"';
    return known(502, error.code, { place: 'storage', problem: error.message, remedy });
  }
  if (error instanceof StoreDeniedError) {
    const remedy = 'run "cronlease doctor", which names the missing right';
    return known(503, error.code, { place: 'storage', problem: 'storage refused this app', remedy });
  }
  if (error instanceof StoreError) {
    // Its text may have parts of the service's answer.
    const problem = 'storage did not answer: the request may or may not have taken effect';
    return known(503, error.code, { place: 'storage', problem, remedy: 'try again in a few seconds' });
  }
  return undefined;
}
