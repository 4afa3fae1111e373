/** A file that browsers keep forever, because its name changes with its content. */
export interface DashboardFile {
  readonly type: string;
  /** Compressed by gzip, in base64. */
  readonly gzip: string;
}

/** `scripts/dashboard.mjs` makes this module. */
export interface Dashboard {
  /** The page at `manage/`. */
  readonly index: string;
  /** By their names below `assets/`. */
  readonly files: Readonly<Record<string, DashboardFile>>;
}

export const DASHBOARD: Dashboard;
