export type Severity = 'ok' | 'warning' | 'problem';

/** One thing that was looked at. */
export interface Finding {
  /** What was looked at: a word that does not change. */
  readonly check: Check;
  readonly status: Severity;
  /** The job, deployment or blob that it is about; null: all of them. */
  readonly subject: string | null;
  readonly message: string;
  /** What to do. Null where all is well. */
  readonly remedy: string | null;
}

export type Check =
  | 'storage'
  | 'clock'
  | 'permissions'
  | 'versioning'
  | 'file'
  | 'host'
  | 'metadata'
  | 'strays'
  | 'orphans'
  | 'unseen'
  | 'revision'
  | 'leases'
  | 'waiting'
  | 'due'
  | 'overdue'
  | 'deployments'
  | 'names'
  | 'hubs'
  | 'skew'
  | 'versions';

export function ok(check: Check, message: string): Finding {
  return { check, status: 'ok', subject: null, message, remedy: null };
}

export function warning(check: Check, subject: string | null, message: string, remedy: string): Finding {
  return { check, status: 'warning', subject, message, remedy };
}

export function problem(check: Check, subject: string | null, message: string, remedy: string): Finding {
  return { check, status: 'problem', subject, message, remedy };
}

/** About one job or deployment. */
export function okAbout(check: Check, subject: string, message: string): Finding {
  return { ...ok(check, message), subject };
}

/** What was found, or that all is well. */
export function orOk(findings: readonly Finding[], check: Check, message: string): readonly Finding[] {
  return findings.length > 0 ? findings : [ok(check, message)];
}
