import type { Strays } from '../../lease/store';

export type Severity = 'ok' | 'warning' | 'problem';

export interface Finding {
  /** The name of the check, which never changes. */
  readonly check: Check;
  readonly status: Severity;
  /** The job, deployment or blob of the finding; null: all of them. */
  readonly subject: string | null;
  readonly message: string;
  /** The remedy. Null if all is well. */
  readonly remedy: string | null;
}

export type Check =
  | 'storage'
  | 'clock'
  | 'permissions'
  | 'versioning'
  | 'durability'
  | 'encryption'
  | 'audit'
  | 'retention'
  | 'file'
  | 'calendars'
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
  | 'load'
  | 'versions'
  | 'cordons'
  | 'accounts';

export function ok(check: Check, message: string): Finding {
  return { check, status: 'ok', subject: null, message, remedy: null };
}

export function warning(check: Check, subject: string | null, message: string, remedy: string): Finding {
  return { check, status: 'warning', subject, message, remedy };
}

export function problem(check: Check, subject: string | null, message: string, remedy: string): Finding {
  return { check, status: 'problem', subject, message, remedy };
}

export function okAbout(check: Check, subject: string, message: string): Finding {
  return { ...ok(check, message), subject };
}

export function orOk(findings: readonly Finding[], check: Check, message: string): readonly Finding[] {
  return findings.length > 0 ? findings : [ok(check, message)];
}

export function strayBlobs(strays: Strays | undefined, folder: string): readonly Finding[] {
  if (strays === undefined) return [];
  const { count, names, harmful } = strays;
  const rest = count > names.length ? ` and ${count - names.length} others` : '';
  const what = count === 1 ? 'is a blob that cronlease does not write' : 'are blobs that cronlease does not write';
  return [
    warning('strays', folder, `${names.join(', ')}${rest} ${what}`, 'delete them: each listing reads them'),
    ...harmful.map((name) =>
      problem(
        'strays',
        name,
        'its metadata has a key that breaks listings by older versions of cronlease and by other programs',
        'delete the blob',
      ),
    ),
  ];
}
