import type { Acknowledged } from '../../manage/schema/actions';
import type { EpochMs } from '../../core/brand';
import { acknowledgeIncident } from '../../core/incident';
import { type Acting, operate } from '../audit';
import { changeControl, checkEnd, checkNote } from '../change-control';
import type { JobState } from '../job-state';
import { OperatorError } from '../operator-error';
import type { Subject } from '../subject';
import { type JobIncident, jobIncident, outcomesOf, overdueFrom, listedAcknowledgement } from '../views/job-status';

export interface AcknowledgeTerms {
  /** Default: the actor. */
  readonly by?: string | undefined;
  /** When it is to end, if the incident has not ended before. */
  readonly until: EpochMs | undefined;
}

/**
 * Acknowledges the incident of a job that fails or is overdue. It replaces the acknowledgement that is in force, and ends
 * with the next success. Throws `OperatorError` `NothingToAcknowledge`, `NoteTooLong`, `PastEnd`, `EndTooLate`,
 * `ControlFull`.
 */
export function ack(
  acting: Acting,
  subject: Subject,
  { by = acting.origin.actor, until }: AcknowledgeTerms,
): Promise<Acknowledged & { readonly incident: JobIncident }> {
  const { note = '' } = acting.origin;
  return operate(acting, 'ack', subject.name, () => {
    checkNote({ by, note });
    return changeControl(acting, subject, (state) => {
      const incident = incidentIn(subject, state);
      if (incident === undefined) {
        const message = `job "${subject.name}" neither fails nor is overdue: there is nothing to acknowledge`;
        throw new OperatorError('NothingToAcknowledge', message);
      }
      checkEnd('acknowledgement', until, state.now);
      const acknowledgement = acknowledgeIncident(incident, { by, note, at: state.now, until });
      const after = listedAcknowledgement(acknowledgement);
      const before = incident.acknowledgement && listedAcknowledgement(incident.acknowledgement);
      const answer = { job: subject.name, acknowledgement: after, incident };
      return { control: { ...state.control, acknowledgement }, result: { answer, before, after } };
    });
  });
}

/** Removes the acknowledgement of a job's incident. Throws `OperatorError` `NotAcknowledged`. */
export function unack(acting: Acting, subject: Subject): Promise<Acknowledged> {
  return operate(acting, 'unack', subject.name, () =>
    changeControl(acting, subject, (state) => {
      const acknowledgement = incidentIn(subject, state)?.acknowledgement;
      if (acknowledgement === undefined) {
        throw new OperatorError('NotAcknowledged', `job "${subject.name}" has no acknowledgement in force`);
      }
      const before = listedAcknowledgement(acknowledgement);
      const answer = { job: subject.name, acknowledgement: before };
      return { control: { ...state.control, acknowledgement: undefined }, result: { answer, before, after: null } };
    }),
  );
}

function incidentIn(subject: Subject, state: JobState): JobIncident | undefined {
  const { row } = state;
  if (row === undefined || row.forgotten !== undefined) return undefined;
  const outcomes = outcomesOf(subject, row, state);
  const overdueSince = subject.spec && overdueFrom(subject.spec, row, state, outcomes);
  return jobIncident(outcomes, state, overdueSince);
}
