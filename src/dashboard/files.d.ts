/** `scripts/dashboard.mjs` makes this module. */
export interface Dashboard {
  /** The page at `manage/`. */
  readonly index: string;
  /**
   * By their names below `assets/`, compressed by gzip, in base64. Browsers keep them forever, because a name changes
   * with its content.
   */
  readonly files: Readonly<Record<string, { readonly type: string; readonly gzip: string }>>;
}

export const DASHBOARD: Dashboard;
