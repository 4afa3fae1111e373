import { formatPath, type ConfigIssue, type Path } from './config-error';
import { valueAt } from './zod-issues';

/** Nobody corrects more at once, and a generated file may have a million errors. */
export const ISSUES_SHOWN = 100;

/** The first issues, and their total number. */
export interface Issues {
  readonly first: ConfigIssue[];
  count: number;
}

/** Collects the issues of one file. */
export interface IssueReport {
  readonly errors: Issues;
  readonly warnings: ConfigIssue[];
  /** `message` and `remedy` are about the value at `path`. */
  error(path: Path, message: string, remedy: string): void;
  warning(path: Path, message: string, remedy: string): void;
}

export function reportOn(file: unknown): IssueReport {
  const errors: Issues = { first: [], count: 0 };
  const warnings: ConfigIssue[] = [];
  const issue = (path: Path, message: string, remedy: string): ConfigIssue => ({
    ...{ path: formatPath(path), value: valueAt(file, path) ?? null },
    ...{ message, remedy },
  });
  return {
    errors,
    warnings,
    error: (path, message, remedy) => {
      addIssues(errors, 1, () => [issue(path, message, remedy)]);
    },
    warning: (path, message, remedy) => {
      warnings.push(issue(path, message, remedy));
    },
  };
}

/** @param make is called only while there is room, since the text of an issue takes longer than its detection */
export function addIssues(issues: Issues, count: number, make: () => readonly ConfigIssue[]): void {
  issues.count += count;
  const room = ISSUES_SHOWN - issues.first.length;
  if (count > 0 && room > 0) issues.first.push(...make().slice(0, room));
}
