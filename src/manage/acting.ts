import { given } from '../core/given';
import type { JobSpec } from '../core/job';
import type { Acting } from '../operator/audit';
import type { Subject } from '../operator/subject';
import { entriesOf, entryOf, specOf } from './jobs-routes';
import type { Office, RawCall } from './route';

/** The job to change, from the shared sweep; the change itself re-reads the job's state. */
export async function subjectOf(office: Office, job: string): Promise<Subject> {
  const { entries } = await entriesOf(office);
  const { name, spec } = entryOf(entries, job);
  return { name, spec };
}

/** Throws if this app's jobs file lacks the job. */
export async function specIn(office: Office, job: string): Promise<JobSpec> {
  const { entries } = await entriesOf(office);
  return specOf(entryOf(entries, job));
}

/** Who makes a change, and why. */
export function actingFor(
  { store, clock, newId }: Office,
  { caller, ifMatch: version }: Pick<RawCall, 'caller' | 'ifMatch'>,
  note?: string,
): Acting {
  // Public routes never change anything.
  if (caller === undefined) throw new Error('a change has no caller');
  const { actor, channel, identity } = caller;
  const origin = { actor, channel, ...given({ identity, note }) };
  return { store, clock, newId, waiting: () => undefined, origin, version };
}
