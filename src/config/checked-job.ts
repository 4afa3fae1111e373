import type { IssueReport, Path } from './config-error';
import type { JobSettings } from './schema';

/**
 * One job while it is checked. A wrong member is reported, and checks that depend on it are skipped. No type that apps
 * see may need this one, because apps lack zod.
 */
export interface CheckedJob {
  readonly path: Path;
  readonly settings: JobSettings;
  /** Members in the file, right or wrong. */
  readonly given: ReadonlySet<string>;
  /** Wrong members. `settings` has their defaults, which mean nothing here. */
  readonly wrong: ReadonlySet<string>;
  readonly report: IssueReport;
}
