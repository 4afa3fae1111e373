declare const brand: unique symbol;

/** A value that must not be mixed with others of the same base type. Erased at run time. */
export type Brand<Base, Name extends string> = Base & { readonly [brand]: Name };

/** A job's name: 1 to 63 of `a-z 0-9 -`. */
export type JobName = Brand<string, 'JobName'>;
/** The id of a blob lease: a GUID that we choose, so that a repeated acquisition is a renewal. */
export type LeaseId = Brand<string, 'LeaseId'>;
/** A row's version, quoted as `If-Match` needs it. */
export type ETag = Brand<string, 'ETag'>;
/** Fencing token: a whole number in the job's row. Each claim adds one; nothing ever lowers it. */
export type Token = Brand<number, 'Token'>;

/** An instant: milliseconds since 1970-01-01T00:00:00Z. */
export type EpochMs = number;
/** A duration in milliseconds. */
export type Millis = number;
