/**
 * An error or a warning about a jobs file.
 *
 * `path` is dotted from the top of the file, such as `jobs.nightly-report.retry.attempts` or
 * `jobs.shop.except[1].from`; a member whose name has characters other than letters, digits, `_`, `$` and `-` is
 * quoted: `jobs["My Job"].schedule`. `$` is the file as a whole.
 */
export interface ConfigIssue {
  readonly path: string;
  /** The value in the file; null if there is none. */
  readonly value: unknown;
  /** The problem, as a sentence that continues from path and value. */
  readonly message: string;
  /** The remedy, as an instruction. */
  readonly remedy: string;
  /** In the jobs file or host.json. Absent if the jobs are an object, or if the issue is about an app setting or a whole file. */
  readonly place?: FilePosition;
}

/** A place in a file, counted from 1, as editors do. */
export interface FilePosition {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export type Path = readonly (string | number)[];

/** An issue while its file is checked. Its place follows from the path, unless it has one. */
export type PathIssue = Omit<ConfigIssue, 'path'> & { readonly path: Path };

/** A path as {@link ConfigIssue} writes it. */
export function formatPath(path: Path): string {
  if (path.length === 0) return '$';
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else if (/^[\w$-]+$/.test(key)) text += text === '' ? key : `.${key}`;
    else text += `[${JSON.stringify(key)}]`;
  }
  return text;
}

/**
 * A jobs file that cannot be used. `message` lists its errors, one on each line. Each line begins with "error", because
 * the Functions host grades a line of standard error by its words: without it the list would be missing from a log of
 * warnings.
 */
export class ConfigError extends Error {
  readonly code = 'InvalidJobs';
  override readonly name = 'ConfigError';

  /** How many errors the file has. `errors` holds the first hundred. */
  readonly count: number;

  /** @param source the origin of the jobs: a path, or a name for an object */
  constructor(
    readonly errors: readonly ConfigIssue[],
    readonly warnings: readonly ConfigIssue[],
    readonly source = 'the jobs',
    { count = errors.length, ...options }: { readonly cause?: unknown; readonly count?: number } = {},
  ) {
    const head = count === 1 ? 'an error' : `${count} errors`;
    const lines = errors.map((error) => `error: ${formatIssue(error)}`);
    const rest = count > errors.length ? [`and ${count - errors.length} more errors`] : [];
    super([`${head} in ${source}, so no job is started:`, ...lines, ...rest].join('\n'), options);
    this.count = count;
  }
}

/** One issue as one line: place, path, value, problem, remedy. An issue of the whole file names the file itself. */
export function formatIssue(issue: ConfigIssue): string {
  const { path, value, message, remedy } = issue;
  const at = placeText(issue);
  if (path === '$' && value === null) return `${at}${message}; ${remedy}`;
  return `${at}${path}${value === null ? '' : ` = ${excerpt(value)}`}: ${message}; ${remedy}`;
}

/** `jobs.json:12:5: `; empty if the place is unknown. */
export function placeText({ place }: Pick<ConfigIssue, 'place'>): string {
  return place === undefined ? '' : `${place.file}:${place.line}:${place.column}: `;
}

const EXCERPT_LENGTH = 80;

function excerpt(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // a BigInt, or an object that holds itself
  }
  text ??= `(${typeof value})`;
  return text.length > EXCERPT_LENGTH ? `${text.slice(0, EXCERPT_LENGTH)}…` : text;
}

/** The value at a path; undefined if there is none. */
export function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const key of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = Object.getOwnPropertyDescriptor(found, key)?.value;
  }
  return found;
}

/** More is of no use at once, and a generated file may have a million errors. */
export const ISSUES_SHOWN = 100;

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
