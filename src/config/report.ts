import { formatPath, type ConfigIssue, type Path } from './config-error';
import { valueAt } from './zod-issues';

/** Collects what is found in one file. */
export interface IssueReport {
  readonly errors: ConfigIssue[];
  readonly warnings: ConfigIssue[];
  /** `message` and `remedy` are about what the file has at `path`. */
  error(path: Path, message: string, remedy: string): void;
  warning(path: Path, message: string, remedy: string): void;
}

export function reportOn(file: unknown): IssueReport {
  const errors: ConfigIssue[] = [];
  const warnings: ConfigIssue[] = [];
  const adder =
    (issues: ConfigIssue[]) =>
    (path: Path, message: string, remedy: string): void => {
      issues.push({ path: formatPath(path), value: valueAt(file, path) ?? null, message, remedy });
    };
  return { errors, warnings, error: adder(errors), warning: adder(warnings) };
}
