/** The command line itself is wrong: exit code 2. */
export class UsageError extends Error {
  readonly code = 'Usage';
  override readonly name = 'UsageError';
}

/** The command line is right, but there is nothing to act on: exit code 1. */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    readonly code:
      | 'NoStorage'
      | 'NoJobsFile'
      | 'NotConfirmed'
      | 'NoRevision'
      | 'NoPrices'
      | 'NoReceiver'
      | 'NoSource'
      | 'NothingImported'
      | 'FileExists',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
