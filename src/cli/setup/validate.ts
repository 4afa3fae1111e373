import { ConfigError, type ConfigIssue, formatIssue, ISSUES_SHOWN } from '../../config/config-error';
import { loadJobs } from '../../config/load';
import { hostAdvice } from '../../functions/host-advice';
import { functionTimeout } from '../../functions/settings';
import { STORE_LIMITS } from '../../stores/limits';
import { appFolderOf, DEFAULT_FILE, type FileOptions, isUnread, printWarnings } from '../jobs-file';
import { NO, OK, print, printError, printJson, warn } from '../output';
import { counted } from '../../core/text';

interface Findings {
  readonly jobs: number;
  /** Whether the file could be read. Its content is judged only then. */
  readonly isRead: boolean;
  /** The number of all errors: `errors` has only the first. */
  readonly errorCount: number;
  readonly errors: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
}

/** `cronlease validate`: makes all checks of an app's start, except for the handlers. */
export function validate(options: FileOptions & { readonly json?: boolean | undefined }): number {
  const { file = DEFAULT_FILE } = options;
  const { isRead, jobs, errorCount, errors, warnings } = check(file);
  const ok = errorCount === 0;
  const shown = warnings.slice(0, ISSUES_SHOWN);
  if (options.json) {
    printJson({ ok, errors, warnings: shown, errorCount, warningCount: warnings.length });
    return ok ? OK : NO;
  }
  printWarnings({ warnings: shown });
  if (warnings.length > shown.length) warn(`and ${counted(warnings.length - shown.length, 'more warning')}`);
  for (const error of errors) printError(formatIssue(error));
  if (errorCount > errors.length) printError(`and ${counted(errorCount - errors.length, 'more error')}`);
  if (ok)
    print(
      `${file} is valid: ${counted(jobs, 'job')}${warnings.length > 0 ? `, ${counted(warnings.length, 'warning')}` : ''}.`,
    );
  else if (isRead) printError(`${file} is not valid: ${counted(errorCount, 'error')}.`);
  return ok ? OK : NO;
}

function check(file: string): Findings {
  const appFolder = appFolderOf(file);
  const host = hostAdvice(process.env, appFolder);
  try {
    const { jobsFile, warnings } = loadJobs(file, {
      functionTimeoutMs: functionTimeout(process.env, appFolder),
      handlersUnknown: true,
      leaseMs: STORE_LIMITS.leaseMs,
      now: Date.now(),
      clockChanges: true,
    });
    return {
      isRead: true,
      jobs: jobsFile.jobs.length,
      errorCount: host.errors.length,
      errors: host.errors,
      warnings: [...warnings, ...host.warnings],
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return {
      isRead: !isUnread(error),
      jobs: 0,
      errorCount: error.count + host.errors.length,
      errors: [...error.errors, ...host.errors],
      warnings: [...error.warnings, ...host.warnings],
    };
  }
}
