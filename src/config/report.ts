import { type ConfigIssue, type FilePosition, formatPath, type Path, type PathIssue, valueAt } from './config-error';
import type { JobSettings } from './schema';

/** More is of no use at once, and a generated file may have a million errors. */
export const ISSUES_SHOWN = 100;

/** The first issues, and their total number. */
interface Issues {
  readonly first: ConfigIssue[];
  count: number;
}

export interface IssueReport {
  readonly errors: Issues;
  readonly warnings: ConfigIssue[];
  /** `message` and `remedy` are about the value at `path`. */
  error(path: Path, message: string, remedy: string): void;
  /** @param shown stands for a secret value */
  warning(path: Path, message: string, remedy: string, shown?: string): void;
  /** @param make is called only while there is room, because the text of an issue takes longer than its detection */
  addErrors(count: number, make: () => readonly PathIssue[]): void;
}

/** @param placeAt the place of a member in its file. Undefined: the jobs are an object. */
export function reportOn(file: unknown, placeAt?: (path: Path) => FilePosition): IssueReport {
  const errors: Issues = { first: [], count: 0 };
  const warnings: ConfigIssue[] = [];
  const placed = ({ path, value, message, remedy, place = placeAt?.(path) }: PathIssue): ConfigIssue => ({
    path: formatPath(path),
    value,
    message,
    remedy,
    ...(place && { place }),
  });
  const addErrors = (count: number, make: () => readonly PathIssue[]): void => {
    errors.count += count;
    const room = ISSUES_SHOWN - errors.first.length;
    if (count > 0 && room > 0) errors.first.push(...make().slice(0, room).map(placed));
  };
  return {
    errors,
    warnings,
    addErrors,
    error: (path, message, remedy) => {
      addErrors(1, () => [{ path, value: valueAt(file, path) ?? null, message, remedy }]);
    },
    warning: (path, message, remedy, shown) => {
      warnings.push(placed({ path, value: shown ?? valueAt(file, path) ?? null, message, remedy }));
    },
  };
}

/** One job while it is checked. A wrong member is reported, and checks that depend on it are skipped. */
export interface CheckedJob {
  readonly path: Path;
  readonly settings: JobSettings;
  /** Members in the file, right or wrong. */
  readonly given: ReadonlySet<string>;
  /** Wrong members. `settings` has their defaults, which mean nothing here. */
  readonly wrong: ReadonlySet<string>;
  readonly report: IssueReport;
}
