import type { SecondAudit } from '../../lease/second-audit';
import { StoreDeniedError, StoreError } from '../../lease/store';
import { type Finding, ok, problem } from './finding';

/**
 * Whether the second place of audit entries answers. Nothing is written there, because it could not be deleted again.
 */
export async function checkAudit(second: SecondAudit | undefined): Promise<readonly Finding[]> {
  if (second === undefined) return [];
  try {
    const { audits } = await second.listAudits({ limit: 1 });
    const newest = audits.length === 0 ? 'it has no entry yet' : 'it has entries';
    return [ok('audit', `${second.location} (CRONLEASE_AUDIT) answers; ${newest}`)];
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const remedy =
      error instanceof StoreDeniedError
        ? 'assign the role of the audit account: until then, changes by people may be refused'
        : 'make it reachable, and its container if it is missing: until then, every change by a person is refused';
    return [problem('audit', null, `${second.location} (CRONLEASE_AUDIT): ${error.message}`, remedy)];
  }
}
