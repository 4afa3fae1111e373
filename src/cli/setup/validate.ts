import { ConfigError, formatIssue, ISSUES_SHOWN } from '../../config/config-error';
import { loadJobs } from '../../config/load';
import { hostAdvice } from '../../functions/host-advice';
import { functionTimeout } from '../../functions/settings';
import { STORE_LIMITS } from '../../stores/limits';
import { appFolderOf, DEFAULT_FILE, type FileOptions, printWarnings } from '../jobs-file';
import { NO, OK, print, printError, printJson, warn } from '../output';
import { counted } from '../../core/text';

/** `cronlease validate`: makes all checks of an app's start, except for the handlers. */
export function validate(options: FileOptions & { readonly json?: boolean | undefined }): number {
  const { file = DEFAULT_FILE } = options;
  const found = check(file);
  const host = hostAdvice(process.env, appFolderOf(file));
  const errors = [...found.errors, ...host.errors];
  const warnings = [...found.warnings, ...host.warnings];
  // `found.errors` has only the first.
  const errorCount = found.count + host.errors.length;
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
  const warned = warnings.length > 0 ? `, ${counted(warnings.length, 'warning')}` : '';
  if (ok) print(`${file} is valid: ${counted(found.jobs, 'job')}${warned}.`);
  else if (found.isRead) printError(`${file} is not valid: ${counted(errorCount, 'error')}.`);
  return ok ? OK : NO;
}

function check(file: string) {
  try {
    const { jobsFile, warnings } = loadJobs(file, {
      functionTimeoutMs: functionTimeout(process.env, appFolderOf(file)),
      handlersUnknown: true,
      leaseMs: STORE_LIMITS.leaseMs,
      now: Date.now(),
      clockChanges: true,
    });
    return { isRead: true, jobs: jobsFile.jobs.length, count: 0, errors: [], warnings };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { cause, count, errors, warnings } = error;
    // The file is missing, a folder, or this user may not read it.
    const isUnread = cause instanceof Error && 'code' in cause && 'syscall' in cause;
    return { isRead: !isUnread, jobs: 0, count, errors, warnings };
  }
}
