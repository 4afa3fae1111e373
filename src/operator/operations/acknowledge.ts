import type { EpochMs, JobName } from '../../core/brand';
import { type Acknowledgement, acknowledgeIncident } from '../../core/incident';
import type { LeaseStore } from '../../lease/store';
import { type Acting, type Recorded, operate } from '../audit';
import { type ChangeOptions, changeControl, checkEnd, checkNote } from '../change-control';
import type { JobState } from '../job-state';
import { OperatorError } from '../operator-error';
import type { Subject } from '../subject';
import { type JobIncident, jobIncident, outcomesOf, overdueFrom, listedAcknowledgement } from '../views/job-status';
import type { Acknowledgement as ListedAcknowledgement } from '../../manage/schema/jobs';

interface Answer {
  readonly job: JobName;
  readonly acknowledgement: ListedAcknowledgement;
}

export interface AcknowledgeTerms {
  /** Default: the actor. */
  readonly by?: string | undefined;
  readonly until: EpochMs | undefined;
}

export function ack(
  acting: Acting,
  subject: Subject,
  { by = acting.origin.actor, until }: AcknowledgeTerms,
): Promise<Recorded<Answer & Pick<Acknowledged, 'incident'>>> {
  return operate(acting, 'ack', subject.name, async () => {
    const { note = '' } = acting.origin;
    const { acknowledgement, before, incident } = await acknowledge(acting.store, subject, { by, note, until }, acting);
    const after = listedAcknowledgement(acknowledgement);
    const answer = { job: subject.name, acknowledgement: after, incident };
    return { answer, before: before && listedAcknowledgement(before), after };
  });
}

export function unack(acting: Acting, subject: Subject): Promise<Recorded<Answer>> {
  return operate(acting, 'unack', subject.name, async () => {
    const before = listedAcknowledgement(await unacknowledge(acting.store, subject, acting));
    return { answer: { job: subject.name, acknowledgement: before }, before, after: null };
  });
}

interface Acknowledged {
  readonly acknowledgement: Acknowledgement;
  /** The one that was in force before. */
  readonly before: Acknowledgement | undefined;
  readonly incident: JobIncident;
}

/**
 * Acknowledges the incident of a job that fails or is overdue. It replaces the acknowledgement that is in force, and ends
 * with the next success.
 *
 * @param acknowledgement.until when it is to end, if the incident has not ended before
 * @throws OperatorError `NothingToAcknowledge`, `NoteTooLong`, `PastEnd`, `EndTooLate`, `ControlFull`
 */
export async function acknowledge(
  store: LeaseStore,
  subject: Subject,
  { by, note, until }: Pick<Acknowledgement, 'by' | 'note' | 'until'>,
  options?: ChangeOptions,
): Promise<Acknowledged> {
  checkNote({ by, note });
  return changeControl(store, subject, options, (state) => {
    const incident = incidentIn(subject, state);
    if (incident === undefined) {
      const message = `job "${subject.name}" neither fails nor is overdue: there is nothing to acknowledge`;
      throw new OperatorError('NothingToAcknowledge', message);
    }
    checkEnd('acknowledgement', until, state.now);
    const acknowledgement = acknowledgeIncident(incident, { by, note, at: state.now, until });
    return {
      control: { ...state.control, acknowledgement },
      result: { acknowledgement, before: incident.acknowledgement, incident },
    };
  });
}

/** Returns the acknowledgement that was removed. Throws `OperatorError` `NotAcknowledged`. */
export function unacknowledge(store: LeaseStore, subject: Subject, options?: ChangeOptions): Promise<Acknowledgement> {
  return changeControl(store, subject, options, (state) => {
    const acknowledgement = incidentIn(subject, state)?.acknowledgement;
    if (acknowledgement === undefined) {
      throw new OperatorError('NotAcknowledged', `job "${subject.name}" has no acknowledgement in force`);
    }
    return { control: { ...state.control, acknowledgement: undefined }, result: acknowledgement };
  });
}

function incidentIn(subject: Subject, state: JobState): JobIncident | undefined {
  const { row } = state;
  if (row === undefined || row.forgotten !== undefined) return undefined;
  const outcomes = outcomesOf(subject, row, state);
  const overdueSince = subject.spec && overdueFrom(subject.spec, row, state, outcomes);
  return jobIncident(outcomes, state, overdueSince);
}
